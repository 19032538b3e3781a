"""Products of many rows by the processor's matrix instructions (x86: AMX), a grid of 16 rows times 16 lanes at once.

They add up the same integers as sums.py does, and what is made of these is the same code: a row has the same bits,
whichever way it went. A process has to ask the system for them, which may say no.
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, NamedTuple

from numba import types
from numba.extending import intrinsic, overload

from truedraw.compiled import forwarded
from truedraw.compiled_for import FEATURES
from truedraw.engine.native import grid_code, grid_eights, grid_fours

HAS_GRIDS = {"amx-int8", "amx-tile"} <= FEATURES and sys.platform == "linux"
NEVER = 2**31  # rows
GRIDDED = {types.uint16: grid_fours, types.uint8: grid_fours, types.int16: grid_eights, types.float32: grid_eights}
FEWEST = 9  # rows that are sooner in a grid than by sums.py
CALL, ASK, GRIDS = 158, 0x1023, 18  # Linux on x86: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)


class Gridded(NamedTuple):
    """What a block's code is built from: as sums.Given, without asking."""

    codes: Any
    numbers: Any
    stride: Any
    quads: Any
    factors: Any
    gap: Any
    scales: Any
    deep: Any
    whole: Any
    rows: Any  # in all
    grids: Any  # one after the other
    each: Any  # rows of a grid; the last one may have fewer


@cache
def grids_from() -> int:
    """From how many rows on products go through grids: NEVER where there are none or the system does not grant them.

    Granted they are to the whole process, whose signal handlers need larger stacks of their own from then on: the
    system refuses smaller ones, and grants nothing where a thread has one.
    """
    granted = HAS_GRIDS and ctypes.CDLL(None).syscall(CALL, ASK, GRIDS) == 0
    return FEWEST if granted else NEVER


def goes_through_grids(codes: Any, scales: Any) -> Any:
    """Whether add_in_grids has code for such a matrix: not of 5 or 6 bits. For compiled code only."""
    raise NotImplementedError


@overload(goes_through_grids, jit_options=forwarded())
def _goes_through_grids(codes, scales):  # type: ignore[no-untyped-def]
    through = scales.dtype in GRIDDED and codes.dtype != types.int8

    def goes(codes, scales):  # type: ignore[no-untyped-def]
        return through

    return goes


@intrinsic  # type: ignore[untyped-decorator]
def set_up_grids(typing: Any, rows: Any, quads: Any) -> Any:
    """Before add_in_grids, in the same thread: for so many rows a grid, and quads of bytes of codes."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if HAS_GRIDS:
            grid_code.set_up(builder, *given)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def put_grids_away(typing: Any) -> Any:
    """After the last of them."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if HAS_GRIDS:
            grid_code.put_away(builder)
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_in_grids(  # noqa: PLR0913, PLR0917
    typing: Any, rows: Any, grids: Any, each: Any, codes: Any, first: Any, numbers: Any, at: Any, stride: Any,
    quads: Any, factors: Any, start: Any, gap: Any, scales: Any, scale: Any, deep: Any, whole: Any, place: Any,
) -> Any:  # fmt: skip
    """As sums.block_adder's operation, for any number of rows in so many grids of `each`; numbers are read up to the
    end of the last grid."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def data(array: int, place: int) -> Any:
            whole = context.make_array(signature.args[array])(context, builder, given[array])
            return builder.gep(whole.data, [given[place]])

        form = signature.args[12].dtype
        if HAS_GRIDS and form in GRIDDED:
            own = Gridded(
                data(3, 4), data(5, 6), given[7], given[8], data(9, 10), given[11], data(12, 13), data(12, 14),
                data(15, 16), *given[:3],
            )  # fmt: skip
            GRIDDED[form].build(builder, own)
        return context.get_dummy_value()

    n = types.int64
    return types.none(n, n, n, codes, n, numbers, n, n, n, factors, n, n, scales, n, n, whole, n), generate
