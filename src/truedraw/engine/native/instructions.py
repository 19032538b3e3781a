"""What sums of products are written down with: vectors and loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from truedraw.engine.native import blocks
from truedraw.engine.native.blocks import QUAD
from truedraw.engine.native.machine import spread
from truedraw.sampling.kernels.bits import CACHE_LINE, SECOND_CACHE, fetch

I8, I16, I32, I64 = (ir.IntType(width) for width in (8, 16, 32, 64))
WIDE = blocks.WIDE  # sums in a vector
SUMS, BYTES = ir.VectorType(I32, WIDE), ir.VectorType(I8, WIDE * QUAD)
LINE = WIDE * QUAD  # bytes of a vector
SHORTS = ir.VectorType(I16, LINE // 2)
SINGLES, HALVES = ir.VectorType(ir.FloatType(), WIDE), ir.VectorType(ir.HalfType(), WIDE)
SMALL = ir.VectorType(I8, WIDE)


def each_case(builder: Any, number: Any, most: int) -> Iterator[int]:
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


@contextmanager
def each(builder: Any, count: Any) -> Iterator[Any]:
    """0 to `count` - 1, one turn after the other: the compiler does not see how many, or it would do several turns at
    once, and ask for the memory of all of them before the first; that takes a third longer."""
    before, turn = builder.block, builder.append_basic_block("turn")
    end = builder.append_basic_block("turns.end")
    builder.branch(turn)
    builder.position_at_end(turn)
    number = builder.phi(I64)
    number.add_incoming(I64(0), before)
    yield number
    after = opaque(builder, builder.add(number, I64(1)))
    number.add_incoming(after, builder.block)
    builder.cbranch(builder.icmp_signed("<", after, count), turn, end)
    builder.position_at_end(end)


@contextmanager
def walked(builder: Any, count: Any, steps: Sequence[tuple[Any, Any]]) -> Iterator[list[Any]]:
    """The same, with places that go on by so many of what they point at from turn to turn."""
    before = builder.block
    with each(builder, count):
        places = [builder.phi(start.type) for start, _ in steps]
        yield places
        for place, (start, step) in zip(places, steps, strict=True):
            place.add_incoming(start, before)
            place.add_incoming(builder.gep(place, [step]), builder.block)


def opaque(builder: Any, value: Any) -> Any:
    """The same, of which the compiler knows nothing."""
    return builder.asm(ir.FunctionType(value.type, [value.type]), "", "=r,0", [value], True)


def ask(builder: Any, place: Any, begin: int, end: int) -> None:
    """Have the memory look for these bytes behind a place, of which more may be under way to the second cache than to
    the first."""
    for ahead in range(begin, end, CACHE_LINE):
        fetch(builder, builder.gep(place, [I64(ahead)]), SECOND_CACHE)


def fitting(vectors: int, rows: int, room: int) -> int:
    """How many of the vectors of a row are at work at once, so that the sums of all rows stay in registers."""
    while vectors > 1 and vectors * rows > room:
        vectors //= 2
    return vectors


def moved(builder: Any, array: Any, stride: Any, row: int) -> Any:
    """The place so many strides further."""
    return builder.gep(array, [builder.mul(stride, I64(row))])


def loaded(builder: Any, pointer: Any, kind: Any) -> Any:
    """A vector of a kind that stands anywhere."""
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=1)


def widened(builder: Any, halves: Any, place: int) -> Any:
    """A vector of float32 from as many float16, so many of them behind a pointer of whatever kind."""
    there = builder.gep(builder.bitcast(halves, HALVES.element.as_pointer()), [I64(place)])
    return builder.fpext(loaded(builder, there, HALVES), SINGLES)


def shifted(builder: Any, some: Any, by: int) -> Any:
    """Bytes, to their lower bits, by pairs: what comes from one into the other is the caller's to mask away."""
    return builder.bitcast(builder.lshr(builder.bitcast(some, SHORTS), SHORTS([by] * SHORTS.count)), BYTES)


def everywhere(builder: Any, pointer: Any) -> Any:
    """Four int8, over and over."""
    return spread(builder, builder.load(builder.bitcast(pointer, I32.as_pointer()), align=1), SUMS)


def started(builder: Any, start: Any) -> Any:
    """Memory for a vector of sums, which the compiler keeps in registers, with their start."""
    held = cgutils.alloca_once(builder, start.type)
    builder.store(start, held)
    return held


def store(builder: Any, vector: Any, pointer: Any) -> None:
    """A vector of float32 to anywhere."""
    builder.store(vector, builder.bitcast(pointer, SINGLES.as_pointer()), align=4)


def factor(builder: Any, factors: Any, which: int) -> Any:
    """One of a row's factors, everywhere."""
    return spread(builder, builder.load(builder.gep(factors, [I64(which)])), SINGLES)


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once."""
    return called(builder, f"llvm.fma.v{WIDE}f32", SINGLES, a, b, c)


def called(builder: Any, name: str, kind: Any, *given: Any) -> Any:
    """What an operation that LLVM has a name for makes of these, a value of a kind."""
    form = ir.FunctionType(kind, [each.type for each in given])
    return builder.call(cgutils.get_or_insert_function(builder.module, form, name), given)
