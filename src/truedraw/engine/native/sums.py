"""Sums of products of small integers, which numba has no name for and makes no vectors of by itself.

Where the processor adds four products of 8 bits at once (x86: VPDPBUSD on 512 bits) it is told to; elsewhere the code
says what is to be added up in vectors of any machine, and the compiler finds what there is. Integers are exact: the
sums are the same.
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from truedraw.engine.native.blocks import LANES, QUAD
from truedraw.engine.native.machine import HAS_QUADS
from truedraw.sampling.kernels.bits import CACHE_LINE, fetch

I8, I32, I64 = (ir.IntType(width) for width in (8, 32, 64))
WIDE = 16  # sums in a vector
SUMS, BYTES = ir.VectorType(I32, WIDE), ir.VectorType(I8, WIDE * QUAD)
ROW = QUAD * LANES  # bytes of codes for one quad of inputs
AHEAD = 4096  # bytes: what is asked for before its turn; with half of it or twice that a pass is a tenth longer
MOST_ROWS = 4  # at once: their sums fit into the processor's registers


def block_sums(rows: int, has_quads: bool = HAS_QUADS) -> Any:
    """For so many rows at once: sums[r, l] = begin[r] + sum_{p < quads, k < QUAD} codes[p, l, k] numbers[r, p, k].

    An operation of (codes, first, numbers, at, stride, quads, starts, start, gap, sums): uint8 codes from `first` on
    [quads, LANES, QUAD], int8 numbers of row r from `at + r stride` on, its int32 start at `start + r gap`, int32 sums
    [rows, LANES]; all contiguous.
    """
    add = _quads if has_quads else _one_by_one

    @intrinsic  # type: ignore[untyped-decorator]
    def operation(  # noqa: PLR0913, PLR0917
        typing: Any, codes: Any, first: Any, numbers: Any, at: Any, stride: Any, quads: Any, starts: Any, start: Any,
        gap: Any, sums: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            data = [context.make_array(signature.args[k])(context, builder, given[k]).data for k in (0, 2, 6, 9)]
            held = [_started(builder, _moved(builder, data[2], given[7], given[8], row)) for row in range(rows)]
            lines = [_moved(builder, data[1], given[3], given[4], row) for row in range(rows)]
            with cgutils.for_range(builder, given[5], intp=I64) as loop:
                here = builder.gep(data[0], [builder.add(given[1], builder.mul(loop.index, I64(ROW)))])
                for ahead in range(AHEAD, AHEAD + ROW, CACHE_LINE):
                    fetch(builder, builder.gep(here, [I64(ahead)]))
                quad = [_everywhere(builder, builder.gep(line, [builder.mul(loop.index, I64(QUAD))])) for line in lines]
                for number in range(LANES // WIDE):
                    some = _loaded(builder, builder.gep(here, [I64(number * QUAD * WIDE)]), SUMS)
                    for row in range(rows):
                        whole = held[row][number]
                        builder.store(add(builder, builder.load(whole), some, quad[row]), whole)
            _write(builder, held, data[3])
            return context.get_dummy_value()

        integer = types.int64
        return types.none(codes, integer, numbers, integer, integer, integer, starts, integer, integer, sums), generate

    return operation


def _moved(builder: Any, array: Any, first: Any, stride: Any, row: int) -> Any:
    return builder.gep(array, [builder.add(first, builder.mul(stride, I64(row)))])


def _started(builder: Any, pointer: Any) -> list[Any]:
    """Memory for a row's sums, which the compiler keeps in registers, with their start."""
    start = _spread(builder, builder.load(pointer))
    held = [cgutils.alloca_once(builder, SUMS) for _ in range(LANES // WIDE)]
    for each in held:
        builder.store(start, each)
    return held


def _spread(builder: Any, word: Any) -> Any:
    """An int32 in every place."""
    one = builder.insert_element(SUMS(ir.Undefined), word, I32(0))
    return builder.shuffle_vector(one, SUMS(ir.Undefined), SUMS([0] * WIDE))


def _everywhere(builder: Any, pointer: Any) -> Any:
    """Four int8, over and over."""
    word = builder.load(builder.bitcast(pointer, I32.as_pointer()), align=1)
    return _spread(builder, word)


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


def _write(builder: Any, held: list[list[Any]], sums: Any) -> None:
    for row, vectors in enumerate(held):
        for number, each in enumerate(vectors):
            there = builder.gep(sums, [I64(row * LANES + number * WIDE)])
            builder.store(builder.load(each), builder.bitcast(there, SUMS.as_pointer()), align=I32.width // 8)
