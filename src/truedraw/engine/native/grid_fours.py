"""One block of codes of 4 bits times rows of int8 in grids, see grids.py; what is made of the sums stands in fours.py.

Codes are taken apart once for all rows. What is added up for one vector of lanes is scaled while the next one's
products are under way.
"""

from __future__ import annotations

from typing import Any

from truedraw.engine.native import fours, grid_code
from truedraw.engine.native.blocks import LANES, QUAD
from truedraw.engine.native.fours import AHEAD, NEAR, QUADS
from truedraw.engine.native.instructions import (
    BYTES,
    I64,
    LINE,
    SINGLES,
    SUMS,
    WIDE,
    ask,
    loaded,
    opaque,
    store,
    walked,
)


def build(builder: Any, given: Any) -> None:
    """Code for any number of rows, so many in a grid; `given`: grids.Gridded."""
    apart = grid_code.memory(builder, 2 * QUADS * LANES * QUAD)
    sums = grid_code.memory(builder, len(grid_code.PRODUCTS) * grid_code.WHOLE)
    _take_apart(builder, given.codes, apart)
    with grid_code.each_grid(builder, given) as (first, own):
        for half, number in enumerate(grid_code.NUMBERS):
            grid_code.load(builder, number, builder.gep(own.numbers, [I64(half * QUADS * QUAD)]), given.stride)
        for vector in range(LANES // WIDE):
            _ask_for(builder, given, first, vector)
            _multiply_grids(builder, apart, vector)
            if vector:
                _scale_grids(builder, own, sums, vector - 1)
            _store_grids(builder, sums, vector)
        _scale_grids(builder, own, sums, LANES // WIDE - 1)


def _take_apart(builder: Any, codes: Any, apart: Any) -> None:
    """Codes of a block one a byte: of each half and vector of lanes its quads."""
    for vector in range(LANES // WIDE):
        for number in range(QUADS):
            here = ((vector // NEAR * QUADS + number) * NEAR + vector % NEAR) * LINE
            for half, some in enumerate(fours.apart(builder, loaded(builder, builder.gep(codes, [I64(here)]), BYTES))):
                there = builder.gep(apart, [I64(_begin(half, vector) + number * LINE)])
                builder.store(some, builder.bitcast(there, SUMS.as_pointer()), align=LINE)


def _begin(half: int, vector: int) -> int:
    return (half * LANES // WIDE + vector) * QUADS * LINE


def _ask_for(builder: Any, given: Any, first: Any, vector: int) -> None:
    """A part of what stands AHEAD ahead, once."""
    share = WIDE * QUADS * QUAD  # bytes of codes
    with builder.if_then(first):
        codes = opaque(builder, given.codes)
        ask(builder, codes, AHEAD + vector * share, AHEAD + (vector + 1) * share)
        scales = opaque(builder, builder.bitcast(given.scales, grid_code.BYTES))
        ask(builder, scales, (AHEAD + vector * share) // 4, (AHEAD + (vector + 1) * share) // 4)


def _multiply_grids(builder: Any, apart: Any, vector: int) -> None:
    """Of a vector of lanes, both halves."""
    for half, codes in enumerate(grid_code.CODES):
        grid_code.load(builder, codes, builder.gep(apart, [I64(_begin(half, vector))]), I64(LINE))
    for half, (numbers, codes) in enumerate(zip(grid_code.NUMBERS, grid_code.CODES, strict=True)):
        grid_code.multiplied(builder, _place(vector, half), numbers, codes)


def _store_grids(builder: Any, sums: Any, vector: int) -> None:
    for half in (0, 1):
        number = _place(vector, half)
        grid_code.stored(builder, number, builder.gep(sums, [I64(number * grid_code.WHOLE)]))


def _place(vector: int, half: int) -> int:
    """Where the products of a vector of lanes are: two of them are under way at a time."""
    return grid_code.PRODUCTS[vector * 2 % len(grid_code.PRODUCTS) + half]


def _scale_grids(builder: Any, own: Any, sums: Any, vector: int) -> None:
    """Add sums to what is there, as fours.py does."""
    scales, least = fours.scales_of(builder, own, vector)
    begin = builder.gep(sums, [I64(_place(vector, 0) * grid_code.WHOLE)])
    whole = builder.gep(own.whole, [I64(vector * WIDE)])
    steps = (own.factors, own.gap), (begin, I64(LINE)), (whole, I64(LANES))
    with walked(builder, own.rows, steps) as (factors, here, line):
        places = (builder.gep(here, [I64(half * grid_code.WHOLE)]) for half in (0, 1))
        found = [builder.sitofp(loaded(builder, place, SUMS), SINGLES) for place in places]
        store(builder, fours.added(builder, found, scales, least, factors, loaded(builder, line, SINGLES)), line)
