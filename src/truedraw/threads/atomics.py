"""Counters that threads share, and what a thread does that waits for one. A counter is a place of an int64 array."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

import os
import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LONG = ir.IntType(64)
WORD = 8  # bytes
APART = 16  # words from one to the next, so that no two lie in one cache line


@intrinsic  # type: ignore[untyped-decorator]
def taken(typing: Any, counters: Any, place: Any) -> Any:
    """What a counter [int64] stood at before it was raised by 1; no two threads get the same."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", builder.gep(array.data, [arguments[1]]), LONG(1), "acq_rel")

    return types.int64(counters, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def seen(typing: Any, counters: Any, place: Any) -> Any:
    """What a counter stands at; all that its raisers wrote before is seen, too."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(builder.gep(array.data, [arguments[1]]), "acquire", WORD)

    return types.int64(counters, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def give_way(typing: Any) -> Any:
    """Let another thread run, where one waits for this processor."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if hasattr(os, "sched_yield"):  # elsewhere the system has to see for itself
            form = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, form, "sched_yield"), [])
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic  # type: ignore[untyped-decorator]
def put(typing: Any, counters: Any, place: Any, number: Any) -> Any:
    """Make a counter stand at a number; whoever sees that sees all that was written before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        there = builder.gep(array.data, [arguments[1]])
        builder.store_atomic(arguments[2], there, "seq_cst", WORD)
        return context.get_dummy_value()

    return types.none(counters, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def replaced(typing: Any, counters: Any, place: Any, old: Any, new: Any) -> Any:
    """Whether a counter stood at `old`, and now at `new`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        there = builder.gep(array.data, [arguments[1]])
        found = builder.cmpxchg(there, arguments[2], arguments[3], "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(counters, types.int64, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def pause(typing: Any) -> Any:
    """A moment for whoever shares this core, on processors that have a word for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            form = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, form, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.none(), generate
