"""What products in grids are written down with: the processor's registers of 16 rows of 64 bytes, by their numbers.

A product is sums [rows, WIDE] += numbers [rows, quads, QUAD] times codes [quads, WIDE, QUAD]: int32 of int8 and uint8.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from truedraw.engine.native.blocks import LANES, QUAD
from truedraw.engine.native.instructions import I8, I64, LINE, each

ROWS = 16  # of a grid at most
WHOLE = ROWS * LINE
PRODUCTS, NUMBERS, CODES = range(4), range(4, 6), range(6, 8)  # which grid is what
BYTES, SHORT, VOID = I8.as_pointer(), ir.IntType(16), ir.VoidType()
PALETTE, COLUMNS_AT, ROWS_AT = 1, 16, 48  # of the 64 bytes that say what grids look like


def memory(builder: Any, size: int) -> Any:
    """So many bytes of the function's own, from the beginning of a line on."""
    found = cgutils.alloca_once(builder, ir.ArrayType(I8, size))
    found.align = LINE
    return builder.bitcast(found, BYTES)


def set_up(builder: Any, rows: Any, quads: Any) -> None:
    """Grids are empty, and for so many rows, and quads of codes, from now on."""
    form = memory(builder, LINE)
    builder.store(ir.ArrayType(I8, LINE)([0] * LINE), builder.bitcast(form, ir.ArrayType(I8, LINE).as_pointer()))
    builder.store(I8(PALETTE), form)
    width = builder.mul(quads, I64(QUAD))
    for which, lines, columns in ((PRODUCTS, rows, I64(LINE)), (NUMBERS, rows, width), (CODES, quads, I64(LINE))):
        for number in which:
            there = builder.gep(form, [I64(COLUMNS_AT + 2 * number)])
            builder.store(builder.trunc(columns, SHORT), builder.bitcast(there, SHORT.as_pointer()))
            builder.store(builder.trunc(lines, I8), builder.gep(form, [I64(ROWS_AT + number)]))
    _call(builder, "ldtilecfg", form)


def put_away(builder: Any) -> None:
    """The processor has nothing to save for them any more."""
    _call(builder, "tilerelease")


@contextmanager
def each_grid(builder: Any, given: Any) -> Iterator[tuple[Any, Any]]:
    """The rows of one grid after the other: whether it is the first, and grids.Gridded of these rows."""
    with each(builder, given.grids) as number:
        row = builder.mul(number, given.each)
        left = builder.sub(given.rows, row)
        yield (
            builder.icmp_unsigned("==", number, I64(0)),
            given._replace(
                numbers=builder.gep(given.numbers, [builder.mul(row, given.stride)]),
                factors=builder.gep(given.factors, [builder.mul(row, given.gap)]),
                whole=builder.gep(given.whole, [builder.mul(row, I64(LANES))]),
                rows=builder.select(builder.icmp_unsigned("<", left, given.each), left, given.each),
            ),
        )


def load(builder: Any, number: int, place: Any, stride: Any) -> None:
    """A grid from rows that lie so many bytes apart."""
    _call(builder, "tileloadd64", I8(number), place, stride)


def multiplied(builder: Any, number: int, numbers: int, codes: int) -> None:
    """Grid `number` = the product of two others."""
    _call(builder, "tilezero", I8(number))
    _call(builder, "tdpbsud", I8(number), I8(numbers), I8(codes))


def stored(builder: Any, number: int, place: Any) -> None:
    """Its rows, one behind the other."""
    _call(builder, "tilestored64", I8(number), place, I64(LINE))


def _call(builder: Any, name: str, *given: Any) -> None:
    form = ir.FunctionType(VOID, [each.type for each in given])
    builder.call(cgutils.get_or_insert_function(builder.module, form, f"llvm.x86.{name}"), list(given))
