"""One block of codes of 4 bits times rows of int8, see sums.py: each half of its inputs has a scale and a least value,
which are nested or not, see nested.py.

A byte holds a code of either half, so that one vector of bytes becomes two of codes by a shift and two masks.
"""

from __future__ import annotations

from typing import Any

from truedraw.engine.constants.matrix import INT4_BITS, LOW_HALF
from truedraw.engine.native.blocks import BESIDE, HALF, LANES, QUAD, SIZE, STEP
from truedraw.engine.native.instructions import (
    BYTES,
    I8,
    I64,
    LINE,
    SINGLES,
    SMALL,
    SUMS,
    WIDE,
    ask,
    each,
    everywhere,
    factor,
    fitting,
    fused,
    loaded,
    moved,
    shifted,
    started,
    store,
    widened,
)
from truedraw.sampling.kernels.bits import CACHE_LINE

QUADS = SIZE // 2 // QUAD  # of either half
assert 2 * QUADS * LOW_HALF * 127 < 1 << 15  # adders.brief_pairs
NEAR = BESIDE // WIDE  # vectors whose codes stand together
AHEAD = 4096  # bytes of codes, and a quarter of that of scales: two blocks


def build(builder: Any, adder: Any, rows: int, given: Any) -> None:
    """Code for so many rows; `given`: sums.Given, adder: adders.Adder."""
    near = fitting(NEAR, 2 * rows, adder.room)
    for first in range(0, LANES // WIDE, near):
        _vectors(builder, adder, rows, given, range(first, first + near))


def _vectors(builder: Any, adder: Any, rows: int, given: Any, vectors: range) -> None:
    start = adder.brief([0] * adder.brief.count)
    held = [[[started(builder, start) for _ in (0, 1)] for _ in vectors] for _ in range(rows)]
    begin = builder.mul(given.quads, I64(vectors[0] // NEAR * NEAR * LINE))
    part = builder.gep(given.codes, [builder.add(begin, I64(vectors[0] % NEAR * LINE))])
    with each(builder, given.quads) as number:
        here = builder.gep(part, [builder.mul(number, I64(NEAR * LINE))])
        ask(builder, here, AHEAD, AHEAD + len(vectors) * LINE)
        if not vectors[0]:
            _ask_scales(builder, given, number)
        both = [loaded(builder, builder.gep(here, [I64(k * LINE)]), BYTES) for k in range(len(vectors))]
        codes = [apart(builder, some) for some in both]
        _add_quad(builder, adder, held, codes, given, number)
    for place, vector in enumerate(vectors):
        _scaled(builder, adder, [row[place] for row in held], given, vector)


def _ask_scales(builder: Any, given: Any, number: Any) -> None:
    there = builder.bitcast(given.scales, I8.as_pointer())
    ask(builder, builder.gep(there, [builder.mul(number, I64(CACHE_LINE))]), AHEAD // 4, AHEAD // 4 + CACHE_LINE)


def apart(builder: Any, both: Any) -> tuple[Any, Any]:
    """The codes of the first half, and those of the second."""
    low = BYTES([LOW_HALF] * LINE)
    halves = both, shifted(builder, both, INT4_BITS)
    first, second = (builder.bitcast(builder.and_(some, low), SUMS) for some in halves)
    return first, second


def _add_quad(builder: Any, adder: Any, held: Any, codes: Any, given: Any, number: Any) -> None:
    """The products of QUAD inputs of either half."""
    for row, sums in enumerate(held):
        line = moved(builder, given.numbers, given.stride, row)
        for half in (0, 1):
            own = builder.mul(builder.add(number, builder.mul(given.quads, I64(half))), I64(QUAD))
            quad = everywhere(builder, builder.gep(line, [own]))
            for whole, some in zip(sums, codes, strict=True):
                builder.store(adder.fours(builder, builder.load(whole[half]), some[half], quad), whole[half])


def _scaled(builder: Any, adder: Any, held: Any, given: Any, vector: int) -> None:
    """Add each row's sums of both halves, of a vector of lanes, to what is there."""
    scales = scales_of(builder, given, vector)
    for row, sums in enumerate(held):
        found = [adder.whole(builder, builder.load(whole)) for whole in sums]
        add_to_whole(builder, found, scales, given, row, vector)


def add_to_whole(
    builder: Any, sums: list[Any], scales: tuple[list[Any], list[Any]], given: Any, row: int, vector: int
) -> None:
    """Add a row's sums of both halves, integers, of a vector of lanes with these scales to what is there."""
    found = [builder.sitofp(some, SINGLES) for some in sums]
    factors = moved(builder, given.factors, given.gap, row)
    whole = builder.gep(given.whole, [I64(row * LANES + vector * WIDE)])
    store(builder, added(builder, found, *scales, factors, loaded(builder, whole, SINGLES)), whole)


def scales_of(builder: Any, given: Any, vector: int) -> tuple[list[Any], list[Any]]:
    """Scales and least values of a vector of lanes, of each half."""
    read = _product if given.scales.type.pointee == I8 else _single
    return tuple(  # type: ignore[return-value]
        [read(builder, given, kind, half, vector * WIDE) for half in (0, 1)] for kind in (0, 1)
    )


def _single(builder: Any, given: Any, kind: int, half: int, lane: int) -> Any:
    return widened(builder, given.scales, (2 * kind + half) * LANES + lane)


def _product(builder: Any, given: Any, kind: int, half: int, lane: int) -> Any:
    """Of an integer without a sign and a float16."""
    small = loaded(builder, builder.gep(given.scales, [I64((2 * kind + half) * LANES + lane)]), SMALL)
    return builder.fmul(builder.uitofp(small, SINGLES), widened(builder, given.deep, kind * LANES + lane))


def added(builder: Any, sums: list[Any], scales: list[Any], least: list[Any], factors: Any, whole: Any) -> Any:
    """A row's whole + step (sum of scale sum) + least step halves, in this order."""
    total = fused(builder, scales[1], sums[1], builder.fmul(scales[0], sums[0]))
    whole = fused(builder, factor(builder, factors, STEP), total, whole)
    for half in (0, 1):
        whole = fused(builder, least[half], factor(builder, factors, HALF + half), whole)
    return whole
