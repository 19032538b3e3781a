"""Machine operations that numba has no name for."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from truedraw.compiled_for import HAS_LONG_VECTORS

FETCHED = 16  # values at a time: a cache line of float32
CACHE_LINE, BYTE = 64, 8  # bytes; bits
FREE = ("nnan", "nsz")  # no NaN, and the sign of 0 does not matter
FOR_READING, DATA = 0, 1  # arguments of LLVM's prefetch
FIRST_CACHE, SECOND_CACHE = 3, 2  # and of these one: where to


@intrinsic  # type: ignore[untyped-decorator]
def long_vectors(typing: Any) -> Any:
    """The loops of the function in which this stands become vectors as long as there are; the compiler takes half."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        take_long_vectors(builder)
        return context.get_dummy_value()

    return types.none(), generate


def take_long_vectors(builder: Any) -> None:
    """The same of a function that is being built."""
    if HAS_LONG_VECTORS:
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # which llvmlite has no name for


@intrinsic  # type: ignore[untyped-decorator]
def bits(typing: Any, x: Any) -> Any:
    """The 64 bits of a double as an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def double(typing: Any, word: Any) -> Any:
    """The double that has these 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def larger(typing: Any, a: Any, b: Any) -> Any:
    """The larger of two floats, neither NaN, of equals either. A loop of it becomes vector instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        above = builder.fcmp_ordered(">", *arguments, flags=FREE)
        return builder.select(above, *arguments, flags=FREE)

    return a(a, a), generate


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typing: Any, word: Any) -> Any:
    """The place, from 0, of the lowest bit that is set in a word that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing: Any, values: Any, i: Any) -> Any:
    """Start to bring FETCHED values of a contiguous array [n] near, from i on; beyond its end nothing happens."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        first = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(BYTE).as_pointer())
        for ahead in range(0, FETCHED * values.dtype.bitwidth // BYTE, CACHE_LINE):
            fetch(builder, builder.gep(first, [ir.Constant(ir.IntType(32), ahead)]))
        return context.get_dummy_value()

    return types.none(values, types.uint64), generate


def fetch(builder: Any, address: Any, into: int = FIRST_CACHE) -> None:
    """The instruction that brings the cache line of an address near; where nothing lies there, nothing happens."""
    word = ir.IntType(32)
    form = ir.FunctionType(ir.VoidType(), [ir.IntType(BYTE).as_pointer(), word, word, word])
    call = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
    builder.call(call, [address, *(ir.Constant(word, each) for each in (FOR_READING, into, DATA))])
