"""Sums of products of small integers, which numba has no name for and makes no vectors of by itself.

Where the processor adds four products of 8 bits at once (x86: VPDPBUSD on 512 bits) it is told to; elsewhere the code
says what is to be added up in vectors of any machine, and the compiler finds what there is. Integers are exact: the
sums are the same.
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from truedraw.engine.native.blocks import LANES, QUAD
from truedraw.engine.native.machine import HAS_QUADS, spread
from truedraw.sampling.kernels.bits import CACHE_LINE, fetch

I8, I32, I64 = (ir.IntType(width) for width in (8, 32, 64))
WIDE = 16  # sums in a vector
SUMS, BYTES, SINGLES = ir.VectorType(I32, WIDE), ir.VectorType(I8, WIDE * QUAD), ir.VectorType(ir.FloatType(), WIDE)
ROW = QUAD * LANES  # bytes of codes for one quad of inputs
AHEAD = 8192  # bytes: what is asked for before its turn; with an eighth of it a product takes a quarter longer
FIRST_HALF, SECOND_HALF, ALL = 0, 1, 2  # of what comes next
MOST_ROWS = 6  # at once: their sums fit into the processor's registers


def block_adder(has_quads: bool = HAS_QUADS) -> Any:
    """For up to MOST_ROWS rows at once: whole[r, l] += sums[r, l] (scales[l] steps[r]), of
    sums[r, l] = starts[r] + sum_{p < quads, k < QUAD} codes[p, l, k] numbers[r, p, k].

    An operation of (rows, share, codes, first, numbers, at, stride, quads, starts, steps, start, gap, scales, scale,
    whole, place): uint8 codes from `first` on [quads, LANES, QUAD], int8 numbers of row r from `at + r stride` on, its
    int32 start and float32 step at `start + r gap`, float32 scales from `scale` on [LANES], float32 whole from `place`
    on [rows, LANES]; all flat. share: of what comes next, asked for meanwhile: ALL, or the first or second half.
    """
    add = _quads if has_quads else _one_by_one

    @intrinsic  # type: ignore[untyped-decorator]
    def add_block(  # noqa: PLR0913, PLR0917
        typing: Any, rows: Any, share: Any, codes: Any, first: Any, numbers: Any, at: Any, stride: Any, quads: Any,
        starts: Any, steps: Any, start: Any, gap: Any, scales: Any, scale: Any, whole: Any, place: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            def data(array: int, place: int) -> Any:
                whole = context.make_array(signature.args[array])(context, builder, given[array])
                return builder.gep(whole.data, [given[place]])

            block, numbers, starts, steps, scales, whole = (
                data(*each) for each in ((2, 3), (4, 5), (8, 10), (9, 10), (12, 13), (14, 15))
            )
            for count in _each_case(builder, given[0], MOST_ROWS):
                lines, begun, fine = (
                    [_moved(builder, each, stride, row) for row in range(count)]
                    for each, stride in ((numbers, given[6]), (starts, given[11]), (steps, given[11]))
                )
                held = [_started(builder, each) for each in begun]
                with cgutils.for_range(builder, given[7], intp=I64) as loop:
                    _ask(builder, block, loop.index, given[7], given[1])
                    here = builder.gep(block, [builder.mul(loop.index, I64(ROW))])
                    _add_quad(builder, add, held, here, lines, loop.index)
                _scaled(builder, held, scales, fine, whole)
            return context.get_dummy_value()

        n = types.int64
        return types.none(n, n, codes, n, numbers, n, n, n, starts, steps, n, n, scales, n, whole, n), generate

    return add_block


def _each_case(builder: Any, number: Any, most: int) -> Iterator[int]:
    """1 to `most`: what is built for each of them is done where `number` is that."""
    end = builder.append_basic_block("cases.end")
    switch = builder.switch(number, end)
    for case in range(1, most + 1):
        here = builder.append_basic_block(f"case.{case}")
        switch.add_case(I64(case), here)
        builder.position_at_end(here)
        yield case
        builder.branch(end)
    builder.position_at_end(end)


def _ask(builder: Any, block: Any, number: Any, quads: Any, share: Any) -> None:
    """Have the memory look for a part of what stands AHEAD of a block, whose quad of this number is at work."""
    part = builder.select(builder.icmp_signed("==", share, I64(ALL)), I64(ROW), I64(ROW // 2))
    begin = builder.add(
        I64(AHEAD), builder.mul(builder.mul(quads, I64(ROW // 2)), builder.and_(share, I64(SECOND_HALF)))
    )
    there = builder.gep(block, [builder.add(begin, builder.mul(number, part))])
    _fetch_each(builder, there, 0, ROW // 2)
    with builder.if_then(builder.icmp_signed("==", share, I64(ALL))):
        _fetch_each(builder, there, ROW // 2, ROW)


def _fetch_each(builder: Any, place: Any, begin: int, end: int) -> None:
    for ahead in range(begin, end, CACHE_LINE):
        fetch(builder, builder.gep(place, [I64(ahead)]))


def _add_quad(builder: Any, add: Any, held: Any, here: Any, lines: Any, number: Any) -> None:
    """The products of QUAD inputs with the codes that stand here."""
    quad = [_everywhere(builder, builder.gep(line, [builder.mul(number, I64(QUAD))])) for line in lines]
    for part in range(LANES // WIDE):
        some = _loaded(builder, builder.gep(here, [I64(part * QUAD * WIDE)]), SUMS)
        for row, each in enumerate(quad):
            whole = held[row][part]
            builder.store(add(builder, builder.load(whole), some, each), whole)


def _scaled(builder: Any, held: Any, scales: Any, steps: Any, whole: Any) -> None:
    """To float32 in memory, integer sums of each row, as what they stand for."""
    form = ir.FunctionType(SINGLES, [SINGLES, SINGLES, SINGLES])
    fma = cgutils.get_or_insert_function(builder.module, form, f"llvm.fma.v{WIDE}f32")
    for row, vectors in enumerate(held):
        step = spread(builder, builder.load(steps[row]), SINGLES)
        for part, each in enumerate(vectors):
            scale = _loaded(builder, builder.gep(scales, [I64(part * WIDE)]), SINGLES)
            there = builder.bitcast(builder.gep(whole, [I64(row * LANES + part * WIDE)]), SINGLES.as_pointer())
            found = builder.sitofp(builder.load(each), SINGLES)
            before = builder.load(there, align=4)
            builder.store(builder.call(fma, [found, builder.fmul(scale, step), before]), there, align=4)


def _moved(builder: Any, array: Any, stride: Any, row: int) -> Any:
    return builder.gep(array, [builder.mul(stride, I64(row))])


def _started(builder: Any, pointer: Any) -> list[Any]:
    """Memory for a row's sums, which the compiler keeps in registers, with their start."""
    start = spread(builder, builder.load(pointer), SUMS)
    held = [cgutils.alloca_once(builder, SUMS) for _ in range(LANES // WIDE)]
    for each in held:
        builder.store(start, each)
    return held


def _everywhere(builder: Any, pointer: Any) -> Any:
    """Four int8, over and over."""
    word = builder.load(builder.bitcast(pointer, I32.as_pointer()), align=1)
    return spread(builder, word, SUMS)


def _loaded(builder: Any, pointer: Any, kind: Any) -> Any:
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=1)


def _quads(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    form = ir.FunctionType(SUMS, [SUMS, SUMS, SUMS])
    return builder.call(
        cgutils.get_or_insert_function(builder.module, form, "llvm.x86.avx512.vpdpbusd.512"), [whole, codes, numbers]
    )


def _one_by_one(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    """The same in terms of any machine: products of pairs first, which many have an instruction for."""
    wide = ir.VectorType(I32, WIDE * QUAD)
    first = builder.zext(builder.bitcast(codes, BYTES), wide)
    found = builder.mul(first, builder.sext(builder.bitcast(numbers, BYTES), wide))
    for left in (WIDE * QUAD, WIDE * QUAD // 2):
        even, odd = (_every_second(builder, found, left, begin) for begin in (0, 1))
        found = builder.add(even, odd)
    return builder.add(whole, found)


def _every_second(builder: Any, vector: Any, length: int, begin: int) -> Any:
    places = ir.VectorType(I32, length // 2)(list(range(begin, length, 2)))
    return builder.shuffle_vector(vector, ir.VectorType(I32, length)(ir.Undefined), places)
