"""One block of codes of 6 bits times rows of int8, see sums.py: each SHARES inputs have a scale, a small integer, and
what these are multiplied with stands before them, see nested.py.

A code of 6 bits has no sign; sums begin with what that makes too much of.
"""

from __future__ import annotations

from typing import Any

from truedraw.engine.native.adders import sums_of_four
from truedraw.engine.native.blocks import LANES, QUAD, QUARTER, SIZE, STEP
from truedraw.engine.native.instructions import (
    BYTES,
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
from truedraw.engine.native.nested import SHARES, SIX_LOW, THREE
from truedraw.sampling.kernels.bits import CACHE_LINE

GROUPS = SIZE // SHARES
VECTORS = LANES // WIDE
GROUP = VECTORS * THREE * LINE  # bytes of codes
AHEAD = 4096  # bytes of codes, and a quarter of that of scales
FEW = 3  # rows of which several vectors are at work: of more, numbers would not stay in registers
SCALES = 96  # bytes of scales a group: a quarter of a block's, with what it may share with others before it


def build(builder: Any, adder: Any, rows: int, given: Any) -> None:
    """Code for so many rows; `given`: sums.Given, adder: adders.Adder."""
    near = 1 if rows > FEW else fitting(VECTORS, rows + SHARES // QUAD, adder.room)  # sums of all rows, and codes
    for first in range(0, VECTORS, near):
        _vectors(builder, adder, rows, given, range(first, first + near))


def _vectors(builder: Any, adder: Any, rows: int, given: Any, vectors: range) -> None:
    held = [[started(builder, SINGLES([0.0] * WIDE)) for _ in vectors] for _ in range(rows)]
    with each(builder, I64(GROUPS)) as group:
        begin = builder.add(builder.mul(group, I64(GROUP)), I64(vectors[0] * THREE * LINE))
        here = builder.gep(given.codes, [begin])
        ask(builder, here, AHEAD, AHEAD + len(vectors) * THREE * LINE)
        if not vectors[0]:
            there = builder.gep(given.scales, [builder.mul(group, I64(SCALES))])
            ask(builder, there, AHEAD // 4, AHEAD // 4 + 2 * CACHE_LINE)
        codes = [_codes(builder, builder.gep(here, [I64(place * THREE * LINE)])) for place in range(len(vectors))]
        scales = [_small(builder, given.scales, group, vector) for vector in vectors]
        for row, sums in enumerate(held):
            _add_group(builder, adder, list(zip(sums, codes, scales, strict=True)), given, group, row)
    for row, sums in enumerate(held):
        step = factor(builder, moved(builder, given.factors, given.gap, row), STEP)
        for place, vector in enumerate(vectors):
            total = builder.fmul(widened(builder, given.deep, vector * WIDE), builder.load(sums[place]))
            whole = builder.gep(given.whole, [I64(row * LANES + vector * WIDE)])
            store(builder, fused(builder, step, total, loaded(builder, whole, SINGLES)), whole)


def _codes(builder: Any, here: Any) -> list[Any]:
    """Of four quads."""
    low = BYTES([SIX_LOW] * LINE)
    held = [loaded(builder, builder.gep(here, [I64(number * LINE)]), BYTES) for number in range(THREE)]
    rest = [
        builder.and_(shifted(builder, some, by), BYTES([3 << at] * LINE))
        for some, by, at in zip(held, (2, 4, 6), (4, 2, 0), strict=True)
    ]
    last = builder.or_(builder.or_(rest[0], rest[1]), rest[2])
    return [builder.bitcast(some, SUMS) for some in (*(builder.and_(each, low) for each in held), last)]


def _add_group(builder: Any, adder: Any, vectors: Any, given: Any, group: Any, row: int) -> None:
    """To the sums of a row scales times the products of SHARES inputs, of (sums, codes, scales) of some vectors."""
    line = moved(builder, given.numbers, given.stride, row)
    begin = builder.gep(line, [builder.mul(group, I64(SHARES))])
    quads = [everywhere(builder, builder.gep(begin, [I64(at)])) for at in range(0, SHARES, QUAD)]
    factors = moved(builder, given.factors, given.gap, row)
    start = everywhere(builder, builder.gep(factors, [builder.add(group, I64(QUARTER))]))
    for sums, codes, scale in vectors:
        found = builder.sitofp(sums_of_four(builder, adder, start, codes, quads), SINGLES)
        builder.store(fused(builder, scale, found, builder.load(sums)), sums)


def _small(builder: Any, scales: Any, group: Any, vector: int) -> Any:
    """The integers of a vector of lanes."""
    begin = builder.add(builder.mul(group, I64(LANES)), I64(vector * WIDE))
    return builder.sitofp(loaded(builder, builder.gep(scales, [begin]), SMALL), SINGLES)
