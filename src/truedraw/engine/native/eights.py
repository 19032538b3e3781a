"""One block of codes of 8 bits times rows of int8, see sums.py."""

from __future__ import annotations

from typing import Any

from truedraw.engine.native.blocks import LANES, QUAD, START, STEP
from truedraw.engine.native.instructions import (
    I64,
    SINGLES,
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
    started,
    store,
    widened,
)
from truedraw.engine.native.machine import SHORT, spread

ROW = QUAD * LANES  # bytes of codes for one quad of inputs
AHEAD = 8192  # bytes: what is asked for before its turn
VECTORS = range(LANES // WIDE)


def build(builder: Any, adder: Any, rows: int, given: Any) -> None:
    """Code for so many rows; `given`: sums.Given, adder: adders.Adder."""
    near = fitting(len(VECTORS), rows, adder.room)
    for first in VECTORS[::near]:
        _vectors(builder, adder, rows, given, VECTORS[first : first + near])


def _vectors(builder: Any, adder: Any, rows: int, given: Any, vectors: range) -> None:
    lines, factors = (
        [moved(builder, one, stride, row) for row in range(rows)]
        for one, stride in ((given.numbers, given.stride), (given.factors, given.gap))
    )
    starts = [_start(builder, own) if adder.counts_from_zero else SUMS([0] * WIDE) for own in factors]
    held = [[started(builder, start) for _ in vectors] for start in starts]
    with each(builder, given.quads) as number:
        if not vectors[0]:
            _ask(builder, given, number)
        here = builder.gep(given.codes, [builder.mul(number, I64(ROW))])
        quad = [everywhere(builder, builder.gep(line, [builder.mul(number, I64(QUAD))])) for line in lines]
        for place, part in enumerate(vectors):
            some = loaded(builder, builder.gep(here, [I64(part * QUAD * WIDE)]), SUMS)
            for whole, own in zip(held, quad, strict=True):
                builder.store(adder.eights(builder, builder.load(whole[place]), some, own), whole[place])
    for row, whole in enumerate(held):
        step = factor(builder, factors[row], STEP)
        for place, part in enumerate(vectors):
            scale = builder.fmul(scale_of(builder, given.scales, part), step)
            found = builder.sitofp(builder.load(whole[place]), SINGLES)
            whole_there = builder.gep(given.whole, [I64(row * LANES + part * WIDE)])
            store(builder, fused(builder, found, scale, loaded(builder, whole_there, SINGLES)), whole_there)


def scale_of(builder: Any, scales: Any, part: int) -> Any:
    """Scales of a vector of lanes, whichever length they have in memory."""
    if scales.type.pointee == SHORT:
        return widened(builder, scales, part * WIDE)
    return loaded(builder, builder.gep(scales, [I64(part * WIDE)]), SINGLES)


def _start(builder: Any, factors: Any) -> Any:
    """What a row's sums begin with, as codes are ZERO too large."""
    return spread(builder, builder.fptosi(builder.load(builder.gep(factors, [I64(START)])), SUMS.element), SUMS)


def _ask(builder: Any, given: Any, number: Any) -> None:
    """Have the memory look for a part of what stands AHEAD of a block, whose quad of this number is at work."""
    part = builder.select(given.asks_all, I64(ROW), I64(ROW // 2))
    begin = builder.select(given.asks_second, builder.mul(given.quads, I64(ROW // 2)), I64(0))
    there = builder.add(builder.add(begin, I64(AHEAD)), builder.mul(number, part))
    place = builder.gep(given.codes, [there])
    ask(builder, place, 0, ROW // 2)
    with builder.if_then(given.asks_all):
        ask(builder, place, ROW // 2, ROW)
