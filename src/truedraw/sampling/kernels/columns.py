"""The largest values of the columns of a tile, in vectors that are written out: so a row is read strictly in order.

A loop that the compiler turns into vectors reads some lines of a tile side by side. On processors of AMD's fourth
generation that takes twice as long where the row comes from memory, and half as long again where it is near.
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from truedraw.compiled_for import HAS_LONG_VECTORS
from truedraw.sampling.kernels.bits import BYTE


def can_be_read(row: Any, *memory: Any) -> bool:
    """Whether `column_maxima` takes a row and memory of these numba types, and vectors of all columns fit registers."""
    arrays = row, *memory
    contiguous = all(isinstance(each, types.Array) and each.layout == "C" for each in arrays)
    return HAS_LONG_VECTORS and contiguous and len({each.dtype for each in arrays}) == 1


def column_maxima(lines: int, columns: int) -> Any:
    """For compiled code, of tiles of such a size: f(row, first, out, at, odd).

    Each of out [at .. at + columns - 1] becomes the largest of itself and its column of the tile that begins at index
    `first` of the row; each of odd [columns] the sum of itself and the column. After a NaN, which is larger than
    nothing, that is NaN.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def maxima(typing: Any, row: Any, first: Any, out: Any, at: Any, odd: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def vector_at(array: int, place: Any) -> Any:
                data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
                return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())

            item = context.get_data_type(row.dtype)
            vector, aligned = ir.VectorType(item, columns), row.dtype.bitwidth // BYTE
            tops, sums = vector_at(2, arguments[3]), vector_at(4, ir.Constant(ir.IntType(64), 0))
            top, seen = (builder.load(place, align=aligned) for place in (tops, sums))
            tile = vector_at(0, arguments[1])
            for line in range(lines):
                values = builder.load(builder.gep(tile, [ir.Constant(ir.IntType(64), line)]), align=aligned)
                top = builder.select(builder.fcmp_ordered(">", values, top), values, top)
                seen = builder.fadd(seen, values)
            builder.store(top, tops, align=aligned)
            builder.store(seen, sums, align=aligned)
            return context.get_dummy_value()

        return types.none(row, types.uint64, out, types.uint64, odd), generate

    return maxima
