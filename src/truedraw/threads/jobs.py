"""A job (board.py) as two addresses: a function of machine code, and what it is given."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from truedraw.threads.atomics import WORD
from truedraw.threads.borrowing import uncounted

JOB = ir.FunctionType(ir.IntType(64), [ir.IntType(8).as_pointer()])  # 1 where it raised


@intrinsic  # type: ignore[untyped-decorator]
def this_call(typing: Any, board: Any, given: Any) -> Any:
    """The job that calls the function in which this stands, of (board, given, takes_part), again: it takes part then.

    Its addresses, (function, what it is given), and how many words are given. The function returns nothing.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, long = types.Tuple((board, given)), ir.IntType(64)
        both = uncounted(context, builder, kind, context.make_tuple(builder, kind, arguments))
        room = builder.ptrtoint(cgutils.alloca_once_value(builder, both), long)
        job = builder.ptrtoint(_job(context, builder, board, given), long)
        words = context.get_abi_sizeof(context.get_value_type(kind)) // WORD
        return context.make_tuple(builder, signature.return_type, [job, room, long(words)])

    return types.UniTuple(types.int64, 3)(board, given), generate


def _job(context: Any, around: Any, board: Any, given: Any) -> Any:
    job = ir.Function(around.module, JOB, around.module.get_unique_name("job"))
    job.linkage = "internal"
    builder = ir.IRBuilder(job.append_basic_block())
    kind = context.get_value_type(types.Tuple((board, given))).as_pointer()
    values = cgutils.unpack_tuple(builder, builder.load(builder.bitcast(job.args[0], kind)))
    kinds, takes_part = (board, given, types.boolean), context.get_constant(types.boolean, True)
    status, _ = context.call_conv.call_function(builder, around.function, types.none, kinds, [*values, takes_part])
    builder.ret(builder.zext(status.is_error, ir.IntType(64)))
    return job


@intrinsic  # type: ignore[untyped-decorator]
def call(typing: Any, code: Any, place: Any) -> Any:
    """A job, by its addresses; whether it raised."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        job = builder.inttoptr(arguments[0], JOB.as_pointer())
        return builder.call(job, [builder.inttoptr(arguments[1], ir.IntType(8).as_pointer())])

    return types.int64(types.int64, types.int64), generate
