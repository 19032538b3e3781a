"""One block of codes of 8 bits times rows of int8, see sums.py."""

from __future__ import annotations

from typing import Any

from truedraw.engine.native.blocks import LANES, QUAD, ZERO
from truedraw.engine.native.instructions import (
    I64,
    SINGLES,
    SUMS,
    WIDE,
    add_up,
    ask,
    each,
    everywhere,
    loaded,
    moved,
    started,
)
from truedraw.engine.native.machine import spread

ROW = QUAD * LANES  # bytes of codes for one quad of inputs
AHEAD = 8192  # bytes: what is asked for before its turn; with an eighth of it a product takes a quarter longer
VECTORS = range(LANES // WIDE)


def build(builder: Any, add: Any, rows: int, given: Any) -> None:
    """Code for so many rows; `given`: sums.Given."""
    lines, halves, steps = (
        [moved(builder, one, stride, row) for row in range(rows)]
        for one, stride in ((given.numbers, given.stride), (given.halves, given.gap), (given.steps, given.steps_gap))
    )
    held = [[started(builder, start) for _ in VECTORS] for start in (_start(builder, sums) for sums in halves)]
    with each(builder, given.quads) as number:
        _ask(builder, given, number)
        here = builder.gep(given.codes, [builder.mul(number, I64(ROW))])
        quad = [everywhere(builder, builder.gep(line, [builder.mul(number, I64(QUAD))])) for line in lines]
        for part in VECTORS:
            some = loaded(builder, builder.gep(here, [I64(part * QUAD * WIDE)]), SUMS)
            for whole, own in zip(held, quad, strict=True):
                builder.store(add(builder, builder.load(whole[part]), some, own), whole[part])
    for row, whole in enumerate(held):
        step = spread(builder, builder.load(steps[row]), SINGLES)
        for part in VECTORS:
            scale = builder.fmul(loaded(builder, builder.gep(given.scales, [I64(part * WIDE)]), SINGLES), step)
            found = builder.sitofp(builder.load(whole[part]), SINGLES)
            add_up(builder, found, scale, builder.gep(given.whole, [I64(row * LANES + part * WIDE)]))


def _start(builder: Any, halves: Any) -> Any:
    """-ZERO times the sum of a row's numbers: codes are ZERO too large."""
    total = builder.add(builder.load(halves), builder.load(builder.gep(halves, [I64(1)])))
    return spread(builder, builder.mul(total, SUMS.element(-ZERO)), SUMS)


def _ask(builder: Any, given: Any, number: Any) -> None:
    """Have the memory look for a part of what stands AHEAD of a block, whose quad of this number is at work."""
    part = builder.select(given.asks_all, I64(ROW), I64(ROW // 2))
    begin = builder.select(given.asks_second, builder.mul(given.quads, I64(ROW // 2)), I64(0))
    there = builder.add(builder.add(begin, I64(AHEAD)), builder.mul(number, part))
    place = builder.gep(given.codes, [there])
    ask(builder, place, 0, ROW // 2)
    with builder.if_then(given.asks_all):
        ask(builder, place, ROW // 2, ROW)
