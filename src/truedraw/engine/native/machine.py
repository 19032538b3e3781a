"""Operations of the machine that numba has no name for: bfloat16, and the bits of numbers."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from truedraw.compiled_for import FEATURES, IS_ARM

SHORT, WORD, SINGLE = ir.IntType(16), ir.IntType(32), ir.FloatType()


HAS_PRODUCTS = IS_ARM or {"avx512f", "avx512vnni"} <= FEATURES or {"avx2", "fma"} <= FEATURES
"""Whether it has instructions that add products of 8 bits, and such that multiply and add float32; ARM's without the
former have others for that."""
ROOM = 24 if "avx512f" in FEATURES else 6
"""Vectors of 512 bits, or as much in shorter ones, that its registers hold beside what they are made of."""
HAS_HALVES = "f16c" in FEATURES or IS_ARM
"""Whether it turns float16 into float32 and back by itself."""


@intrinsic  # type: ignore[untyped-decorator]
def to_bfloat16(typing: Any, number: Any) -> Any:
    """The bits of the bfloat16 nearest to a float32, of two the even one; a NaN stays one. A loop of it becomes vector
    instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.bitcast(arguments[0], WORD)
        odd = builder.and_(builder.lshr(word, WORD(16)), WORD(1))
        nearest = builder.add(word, builder.add(odd, WORD(2**15 - 1)))
        is_none = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        found = builder.select(is_none, builder.or_(word, WORD(2**22)), nearest)
        return builder.trunc(builder.lshr(found, WORD(16)), SHORT)

    return types.uint16(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def from_bfloat16(typing: Any, short: Any) -> Any:
    """The float32 of a bfloat16's bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.shl(builder.zext(arguments[0], WORD), WORD(16)), SINGLE)

    return types.float32(types.uint16), generate


@intrinsic  # type: ignore[untyped-decorator]
def power(typing: Any, exponent: Any) -> Any:
    """2.0**exponent as a float32, of an int32 from -126 to 127."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.shl(builder.add(arguments[0], WORD(127)), WORD(23)), SINGLE)

    return types.float32(types.int32), generate


@intrinsic  # type: ignore[untyped-decorator]
def scaled_to_bfloat16(typing: Any, number: Any, exponent: Any) -> Any:
    """The bits of the bfloat16 nearest to number 2.0**exponent, of two the larger, of a float32 above 0 and an int32
    that keep it a normal number; NaN of a usual NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.add(builder.bitcast(arguments[0], WORD), builder.shl(arguments[1], WORD(23)))
        return builder.trunc(builder.lshr(builder.add(word, WORD(2**15)), WORD(16)), SHORT)

    return types.uint16(types.float32, types.int32), generate


@intrinsic  # type: ignore[untyped-decorator]
def magnitude(typing: Any, number: Any) -> Any:
    """The bits of a float32 without its sign, an int32: in the order of absolute values, and NaN above all."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.and_(builder.bitcast(arguments[0], WORD), WORD(2**31 - 1))

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
        return _turned(builder, builder.bitcast(arguments[0], WORD))

    return types.int32(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def unordered(typing: Any, word: Any) -> Any:
    """The float32 of such an int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(_turned(builder, arguments[0]), SINGLE)

    return types.float32(types.int32), generate


def _turned(builder: Any, word: Any) -> Any:
    """All bits but the sign are turned over where that is set."""
    return builder.xor(word, builder.and_(builder.ashr(word, WORD(31)), WORD(2**31 - 1)))


def spread(builder: Any, number: Any, kind: Any) -> Any:
    """Code that puts a number into every place of a vector of a kind."""
    one = builder.insert_element(kind(ir.Undefined), number, WORD(0))
    return builder.shuffle_vector(one, kind(ir.Undefined), ir.VectorType(WORD, kind.count)([0] * kind.count))
