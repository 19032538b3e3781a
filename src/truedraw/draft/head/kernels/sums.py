"""Sums of products of small integers, which numba has no name for and makes no vectors of by itself.

The code says what is to be added up, in vectors of any machine; where the processor has instructions for products of
16 bits that are added in pairs (x86: PMADDWD, VPDPWSSD), the compiler finds them.
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from truedraw.draft.head.kernels.blocks import LANES
from truedraw.sampling.kernels.bits import CACHE_LINE, fetch

I8, I16, I32, I64 = (ir.IntType(width) for width in (8, 16, 32, 64))
WIDE = 16  # sums in a vector
SUMS, PRODUCTS, CODES, NUMBERS = (
    ir.VectorType(I32, WIDE), ir.VectorType(I32, 2 * WIDE), ir.VectorType(I8, 2 * WIDE), ir.VectorType(I16, 2 * WIDE),
)  # fmt: skip
ROW = 2 * LANES  # bytes of codes for one pair of inputs
AHEAD = 2048  # bytes: what is asked for before its turn; 8192 is too far, nothing takes half as long again


@intrinsic  # type: ignore[untyped-decorator]
def block_sums(typing: Any, codes: Any, first: Any, numbers: Any, begin: Any, pairs: Any, sums: Any) -> Any:
    """sums[r] = sum_{p < pairs, k < 2} codes[first + (p LANES + r) 2 + k] numbers[begin + 2 p + k], r < LANES.

    codes: int8; numbers: int16; sums: int32 [LANES]; all contiguous. What leaves 32 bits is lost.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 2, 5)]
        codes, numbers = builder.gep(arrays[0], [arguments[1]]), builder.gep(arrays[1], [arguments[3]])
        held = [cgutils.alloca_once(builder, SUMS) for _ in range(LANES // WIDE)]
        for each in held:
            builder.store(SUMS(None), each)
        with cgutils.for_range(builder, arguments[4], intp=I64) as loop:
            row = builder.gep(codes, [builder.mul(loop.index, I64(ROW))])
            for ahead in range(AHEAD, AHEAD + ROW, CACHE_LINE):
                fetch(builder, builder.gep(row, [I64(ahead)]))
            pair = _everywhere(builder, builder.gep(numbers, [builder.mul(loop.index, I64(2))]))
            for number, each in enumerate(held):
                codes_here = _loaded(builder, builder.gep(row, [I64(number * 2 * WIDE)]), CODES, 1)
                _add(builder, each, builder.mul(builder.sext(codes_here, PRODUCTS), pair))
        for number, each in enumerate(held):
            there = builder.bitcast(builder.gep(arrays[2], [I64(number * WIDE)]), SUMS.as_pointer())
            builder.store(builder.load(each), there, align=I32.width // 8)
        return context.get_dummy_value()

    return types.none(codes, types.int64, numbers, types.int64, types.int64, sums), generate


def _loaded(builder: Any, pointer: Any, kind: Any, align: int) -> Any:
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=align)


def _everywhere(builder: Any, pointer: Any) -> Any:
    """Two int16, over and over, as int32."""
    both = _loaded(builder, pointer, I32, I16.width // 8)
    one = builder.insert_element(SUMS(ir.Undefined), both, I32(0))
    all_of_them = builder.shuffle_vector(one, SUMS(ir.Undefined), SUMS([0] * WIDE))
    return builder.sext(builder.bitcast(all_of_them, NUMBERS), PRODUCTS)


def _add(builder: Any, held: Any, products: Any) -> None:
    """To each sum, its two products."""
    odd, even = (
        builder.shuffle_vector(products, PRODUCTS(ir.Undefined), SUMS(list(range(first, 2 * WIDE, 2))))
        for first in (1, 0)
    )
    builder.store(builder.add(builder.load(held), builder.add(even, odd)), held)
