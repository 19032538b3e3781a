"""Operations of the machine that numba has no name for: half precision, and the bits of numbers."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from truedraw.sampling.kernels.bits import FEATURES

HALF, SHORT, SINGLE, LONG = ir.HalfType(), ir.IntType(16), ir.FloatType(), ir.IntType(64)


HAS_PRODUCTS = {"avx512f", "avx512vnni"} <= FEATURES or {"avx2", "fma"} <= FEATURES
"""Whether it has instructions that add products of 8 bits, and such that multiply and add float32."""
ROOM = 24 if "avx512f" in FEATURES else 6
"""Vectors of 512 bits, or as much in shorter ones, that its registers hold beside what they are made of."""
HAS_HALVES = "f16c" in FEATURES or platform.machine() in ("aarch64", "arm64")
"""Whether it turns float16 into float32 and back by itself."""


@intrinsic  # type: ignore[untyped-decorator]
def halved(typing: Any, number: Any) -> Any:
    """The bits of the float16 nearest to a float32. A loop of it becomes vector instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], HALF), SHORT)

    return types.uint16(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def power(typing: Any, exponent: Any) -> Any:
    """2.0**exponent as a float32, of an int32 from -126 to 127."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        return builder.bitcast(builder.shl(builder.add(arguments[0], word(127)), word(23)), SINGLE)

    return types.float32(types.int32), generate


@intrinsic  # type: ignore[untyped-decorator]
def magnitude(typing: Any, number: Any) -> Any:
    """The bits of a float32 without its sign, an int32: in the order of absolute values, and NaN above all."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        return builder.and_(builder.bitcast(arguments[0], word), word(2**31 - 1))

    return types.int32(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def single(typing: Any, word: Any) -> Any:
    """The float32 that has these 32 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], SINGLE)

    return types.float32(types.int32), generate


@intrinsic  # type: ignore[untyped-decorator]
def ordered(typing: Any, number: Any) -> Any:
    """An int32 that is the larger the larger a float32 is, and NaN beyond all: a loop becomes vector instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _turned(builder, builder.bitcast(arguments[0], ir.IntType(32)))

    return types.int32(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def unordered(typing: Any, word: Any) -> Any:
    """The float32 of such an int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(_turned(builder, arguments[0]), SINGLE)

    return types.float32(types.int32), generate


def _turned(builder: Any, word: Any) -> Any:
    """All bits but the sign are turned over where that is set."""
    kind = ir.IntType(32)
    return builder.xor(word, builder.and_(builder.ashr(word, kind(31)), kind(2**31 - 1)))


def spread(builder: Any, number: Any, kind: Any) -> Any:
    """Code that puts a number into every place of a vector of a kind."""
    one = builder.insert_element(kind(ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(one, kind(ir.Undefined), ir.VectorType(ir.IntType(32), kind.count)([0] * kind.count))
