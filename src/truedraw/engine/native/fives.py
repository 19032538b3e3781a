"""One block of codes of 5 bits times rows of int8, see sums.py: scales and least values are those of codes of 4 bits,
nested as nested.py has them.

Lower bits lie as in fours.py; of each four such vectors a fifth has the highest bits.
"""

from __future__ import annotations

from typing import Any

from truedraw.engine.constants.matrix import INT4_BITS
from truedraw.engine.native.adders import sums_of_four
from truedraw.engine.native.blocks import LANES, QUAD, SIZE
from truedraw.engine.native.fours import add_to_whole, apart, scales_of
from truedraw.engine.native.instructions import (
    BYTES,
    I64,
    LINE,
    SUMS,
    WIDE,
    ask,
    each,
    everywhere,
    fitting,
    loaded,
    moved,
    shifted,
    started,
)
from truedraw.engine.native.nested import FIFTH, FIVE
from truedraw.sampling.kernels.bits import CACHE_LINE

GROUPS, QUADS = SIZE // 2 // QUAD // FIFTH, FIFTH  # of either half, and in a group
VECTORS = LANES // WIDE
GROUP = VECTORS * FIVE * LINE  # bytes of codes
AHEAD = 4096  # bytes of codes, and a quarter of that of scales
FEW = 3  # rows of which several vectors are at work: of more, numbers would not stay in registers
SCALES = 160  # bytes of scales a group: half of a block's, with its part of what it shares with others


def build(builder: Any, adder: Any, rows: int, given: Any) -> None:
    """Code for so many rows; `given`: sums.Given, adder: adders.Adder."""
    near = 1 if rows > FEW else fitting(VECTORS, 2 * rows + 2 * QUADS, adder.room)  # sums of all rows, and codes
    for first in range(0, VECTORS, near):
        _vectors(builder, adder, rows, given, range(first, first + near))


def _vectors(builder: Any, adder: Any, rows: int, given: Any, vectors: range) -> None:
    held = [[[started(builder, SUMS([0] * WIDE)) for _ in (0, 1)] for _ in vectors] for _ in range(rows)]
    with each(builder, I64(GROUPS)) as group:
        begin = builder.add(builder.mul(group, I64(GROUP)), I64(vectors[0] * FIVE * LINE))
        here = builder.gep(given.codes, [begin])
        ask(builder, here, AHEAD, AHEAD + len(vectors) * FIVE * LINE)
        if not vectors[0]:
            there = builder.gep(given.scales, [builder.mul(group, I64(SCALES))])
            ask(builder, there, AHEAD // 4, AHEAD // 4 + 3 * CACHE_LINE)
        codes = [_codes(builder, builder.gep(here, [I64(place * FIVE * LINE)])) for place in range(len(vectors))]
        for row, sums in enumerate(held):
            _add_group(builder, adder, sums, codes, given, group, row)
    for place, vector in enumerate(vectors):
        scales = scales_of(builder, given, vector)
        for row, sums in enumerate(held):
            add_to_whole(builder, [builder.load(some) for some in sums[place]], scales, given, row, vector)


def _codes(builder: Any, here: Any) -> list[list[Any]]:
    """Of QUADS quads, of either half."""
    high = loaded(builder, builder.gep(here, [I64(QUADS * LINE)]), BYTES)
    found: list[list[Any]] = [[], []]
    for number in range(QUADS):
        lower = apart(builder, loaded(builder, builder.gep(here, [I64(number * LINE)]), BYTES))
        for half, (own, low) in enumerate(zip(found, lower, strict=True)):
            own.append(builder.or_(low, _fifth_bits(builder, high, QUADS * half + number)))
    return found


def _fifth_bits(builder: Any, high: Any, place: int) -> Any:
    """Those that stand at a place of each byte, where codes have them."""
    if place < INT4_BITS:
        moved_there = builder.shl(builder.bitcast(high, SUMS), SUMS([INT4_BITS - place] * WIDE))
    else:
        moved_there = builder.bitcast(shifted(builder, high, place - INT4_BITS), SUMS)
    return builder.and_(moved_there, builder.bitcast(BYTES([1 << INT4_BITS] * LINE), SUMS))


def _add_group(builder: Any, adder: Any, sums: Any, codes: Any, given: Any, group: Any, row: int) -> None:
    """To a row's sums of both halves of some vectors, the products of a group of either."""
    line = moved(builder, given.numbers, given.stride, row)
    for half in (0, 1):
        begin = builder.add(builder.mul(group, I64(QUADS * QUAD)), I64(half * SIZE // 2))
        own = builder.gep(line, [begin])
        quads = [everywhere(builder, builder.gep(own, [I64(at)])) for at in range(0, QUADS * QUAD, QUAD)]
        for held, some in zip(sums, codes, strict=True):
            whole = sums_of_four(builder, adder, builder.load(held[half]), some[half], quads)
            builder.store(whole, held[half])
