"""Where a thread that has a job to share meets those that wait for one, in machine code all of them.

A job is a compiled function and what it is given. It must be one that is whole when the caller has come to its end,
whoever else takes part: nobody has to be there. Whoever does has left before the caller goes on, so that what was given
needs to live no longer. Such a function looks like this; all threads run the same machine code, so that it does not
matter who computes what.

    def job(board, given, takes_part):
        if not takes_part:
            share(board, this_call(board, given))
            return
        ...
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from truedraw.compiled import compiled, inlined
from truedraw.threads.atomics import APART, WORD, give_way, pause, put, replaced, seen, taken
from truedraw.threads.borrowing import place_at, uncounted

OWNER, DOOR, NUMBER, CODE, GIVEN, COMING, AWAKE = (APART * k for k in range(7))
"""Whether a caller has the board; OPEN and how many helpers are in, 0 where it is closed; of the job; its function and
what that is given, addresses; how many jobs have been announced; from here on, whether each helper looks."""
KEEPS = 2  # in the place of an owner: whatever comes is not done, but kept, see kept.py
OPEN = 1 << 32
POLITE = 4096  # looks, before another thread may have the processor: who gives way often is left waiting for it
JOB = ir.FunctionType(ir.IntType(64), [ir.IntType(8).as_pointer()])  # 1 where it raised


def board(helpers: int) -> NDArray[np.int64]:
    """For so many threads beside the caller's."""
    return np.zeros(AWAKE + APART * (helpers + 1), np.int64)


@inlined()
def is_attended(board):  # type: ignore[no-untyped-def]
    """Whether a helper looks; nobody does at a board of no words."""
    awake = 0
    for helper in range(AWAKE, board.shape[0] - APART, APART):
        awake |= seen(board, helper)
    return awake != 0


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


@inlined()
def share(board, job):  # type: ignore[no-untyped-def]
    """Do it, together with whoever waits at the board; a board that KEEPS has it afterwards."""
    if board[OWNER] == KEEPS:
        keep(board, job)
    elif together(board, job[0], job[1]):
        raise MemoryError("there is no memory for what a pass keeps beside its rows; give it fewer at once")


@inlined()
def keep(board, job):  # type: ignore[no-untyped-def]
    """A job at a board that has as many words more as that is given."""
    code, place, words = job
    board[CODE], board[GIVEN] = code, words
    if board.shape[0] >= AWAKE + words:
        given = carray(place_at(place), (words,), np.int64)
        for k in range(words):
            board[AWAKE + k] = given[k]


@inlined()
def together(board, code, place):  # type: ignore[no-untyped-def]
    """Whether a job, by its addresses, raised, when it has been done by all who came to the board.

    Where the caller's part raises, which only a want of memory makes it do, the board is out of use from then on:
    helpers may still be in.
    """
    offered = offer(board, code, place)
    failed = call(code, place)
    if offered and failed:
        put(board, DOOR, 0)
    elif offered:
        close(board)
    return failed != 0


@inlined()
def offer(board, code, place):  # type: ignore[no-untyped-def]
    """To whoever waits at the board; whether it could be: another caller may have it."""
    if not replaced(board, OWNER, 0, 1):
        return False
    put(board, CODE, code)
    put(board, GIVEN, place)
    taken(board, NUMBER)
    put(board, DOOR, OPEN)
    return True


@intrinsic  # type: ignore[untyped-decorator]
def call(typing: Any, code: Any, place: Any) -> Any:
    """A job, by its addresses; whether it raised."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        job = builder.inttoptr(arguments[0], JOB.as_pointer())
        return builder.call(job, [builder.inttoptr(arguments[1], ir.IntType(8).as_pointer())])

    return types.int64(types.int64, types.int64), generate


@inlined()
def close(board):  # type: ignore[no-untyped-def]
    """Nobody more comes in, and whoever is has left."""
    door = seen(board, DOOR)
    while not replaced(board, DOOR, door, door & (OPEN - 1)):
        door = seen(board, DOOR)
    looks = 0
    while seen(board, DOOR):
        looks = look(looks)
    put(board, OWNER, 0)


@compiled(nogil=True)
def serve(board, helper, patience):  # type: ignore[no-untyped-def]
    """Take part in what comes until nothing has for so many looks, as helper number so-and-so. How often it looked.

    What is announced by then is waited for: a caller who has seen that the helper looks does not wake it.
    """
    awake, last, announced, looks, all_looks = AWAKE + APART * helper, np.int64(-1), seen(board, COMING), 0, 0
    put(board, awake, 1)
    while looks < patience:
        if seen(board, NUMBER) != last and enter(board):
            last, announced, looks = seen(board, NUMBER), seen(board, COMING), 0
            call(seen(board, CODE), seen(board, GIVEN))
            leave(board)
        looks, all_looks = look(looks), all_looks + 1
        if looks == patience:
            put(board, awake, 0)
            if seen(board, COMING) != announced:
                announced, looks = seen(board, COMING), 0
                put(board, awake, 1)
    return all_looks


@compiled()
def announce(board):  # type: ignore[no-untyped-def]
    """A job, before it is looked whether helpers are awake."""
    taken(board, COMING)


@inlined()
def enter(board):  # type: ignore[no-untyped-def]
    """Whether the door was open."""
    door = seen(board, DOOR)
    while door >= OPEN:
        if replaced(board, DOOR, door, door + 1):
            return True
        door = seen(board, DOOR)
    return False


@inlined()
def leave(board):  # type: ignore[no-untyped-def]
    """What has been entered."""
    door = seen(board, DOOR)
    while not replaced(board, DOOR, door, door - 1):
        door = seen(board, DOOR)


@inlined()
def look(looks):  # type: ignore[no-untyped-def]
    """One more, behind a moment."""
    pause()
    if looks % POLITE == POLITE - 1:
        give_way()
    return looks + 1
