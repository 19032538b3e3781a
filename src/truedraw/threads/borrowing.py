"""Memory that compiled code reads and writes while somebody else holds it."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(typing: Any, values: Any) -> Any:
    """The same array, or tuple of such, references to which are not counted: each costs two atomic operations, and
    many times that where threads count at once.

    Its owner must live longer; where that is an array made in compiled code, `alive` sees to it.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return uncounted(context, builder, signature.args[0], arguments[0])

    return values(values), generate


def uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A value of that kind, references to whose arrays are not counted."""
    if isinstance(kind, types.BaseTuple):
        parts = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)
        return context.make_tuple(builder, kind, [uncounted(context, builder, *part) for part in parts])
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


@intrinsic  # type: ignore[untyped-decorator]
def flattened(typing: Any, array: Any) -> Any:
    """A contiguous array as one of one axis, borrowed as well: numba's `reshape` is a call, in every turn of a loop."""
    if array.layout != "C":
        raise TypingError(f"{array} is not contiguous; no other array is flat")
    found = types.Array(array.dtype, 1, "C", readonly=not array.mutable)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(signature.args[0])(context, builder, arguments[0])
        line = context.make_array(found)(context, builder)
        size, step = (cgutils.pack_array(builder, [number]) for number in (whole.nitems, whole.itemsize))
        populate_array(line, whole.data, size, step, whole.itemsize, None)
        return line._getvalue()

    return found(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def alive(typing: Any, owner: Any) -> Any:
    """Keep an array until here."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.none(owner), generate


@intrinsic  # type: ignore[untyped-decorator]
def place_at(typing: Any, address: Any) -> Any:
    """The address of memory that somebody else holds, as a pointer for numba's carray."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate
