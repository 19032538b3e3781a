"""One block of codes of 8 bits times rows of int8 in grids, see grids.py; sums are scaled as in eights.py."""

from __future__ import annotations

from typing import Any

from truedraw.engine.native import grid_code
from truedraw.engine.native.blocks import LANES, QUAD, START, STEP
from truedraw.engine.native.eights import AHEAD, ROW, VECTORS, scale_of
from truedraw.engine.native.instructions import (
    I64,
    LINE,
    SINGLES,
    SUMS,
    WIDE,
    ask,
    each,
    factor,
    fused,
    loaded,
    store,
    walked,
)
from truedraw.sampling.kernels.bits import CACHE_LINE


def build(builder: Any, given: Any) -> None:
    """Code for any number of rows, so many in a grid; `given`: grids.Gridded."""
    sums = grid_code.memory(builder, len(VECTORS) * grid_code.WHOLE)
    numbers, codes = grid_code.NUMBERS[0], grid_code.CODES
    with grid_code.each_grid(builder, given) as (first, own):
        grid_code.load(builder, numbers, own.numbers, given.stride)
        for part in VECTORS:
            _ask_for(builder, given, first, part)
            held = codes[part % len(codes)]
            grid_code.load(builder, held, builder.gep(given.codes, [I64(part * QUAD * WIDE)]), I64(ROW))
            grid_code.multiplied(builder, grid_code.PRODUCTS[part], numbers, held)
            grid_code.stored(builder, grid_code.PRODUCTS[part], builder.gep(sums, [I64(part * grid_code.WHOLE)]))
        _scale_grids(builder, own, sums)


def _ask_for(builder: Any, given: Any, first: Any, part: int) -> None:
    """A part of what stands AHEAD, once."""
    with builder.if_then(first):
        share = builder.mul(given.quads, I64(ROW // len(VECTORS)))
        begin = builder.mul(share, I64(part))
        with each(builder, builder.udiv(share, I64(CACHE_LINE))) as number:
            place = builder.gep(given.codes, [builder.add(begin, builder.mul(number, I64(CACHE_LINE)))])
            ask(builder, place, AHEAD, AHEAD + CACHE_LINE)


def _scale_grids(builder: Any, own: Any, sums: Any) -> None:
    """Add sums to what is there, as eights.py does."""
    scales = [scale_of(builder, own.scales, part) for part in VECTORS]
    steps = (own.factors, own.gap), (sums, I64(LINE)), (own.whole, I64(LANES))
    with walked(builder, own.rows, steps) as (factors, here, line):
        step, start = (factor(builder, factors, which) for which in (STEP, START))
        for part in VECTORS:
            found = loaded(builder, builder.gep(here, [I64(part * grid_code.WHOLE)]), SUMS)
            found = builder.fadd(builder.sitofp(found, SINGLES), start)  # whole numbers that float32 holds
            whole = builder.gep(line, [I64(part * WIDE)])
            scale = builder.fmul(scales[part], step)
            store(builder, fused(builder, found, scale, loaded(builder, whole, SINGLES)), whole)
