"""The clock of compiled code, on systems that have time.CLOCK_MONOTONIC."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

A_SECOND = 1_000_000_000  # nanoseconds


@intrinsic  # type: ignore[untyped-decorator]
def nanoseconds(typing: Any) -> Any:
    """Of which only differences mean anything."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, long = ir.IntType(32), ir.IntType(64)
        moment = cgutils.alloca_once(builder, ir.ArrayType(long, 2))  # seconds, and nanoseconds behind them
        form = ir.FunctionType(word, [word, moment.type])
        clock = cgutils.get_or_insert_function(builder.module, form, "clock_gettime")
        builder.call(clock, [word(time.CLOCK_MONOTONIC), moment])
        parts = cgutils.unpack_tuple(builder, builder.load(moment))
        return builder.add(builder.mul(parts[0], long(A_SECOND)), parts[1])

    return types.int64(), generate
