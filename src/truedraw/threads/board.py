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

from __future__ import annotations

import numpy as np
from numba import carray
from numpy.typing import NDArray

from truedraw.compiled import compiled, inlined
from truedraw.threads.atomics import APART, give_way, pause, put, replaced, seen, taken
from truedraw.threads.borrowing import place_at
from truedraw.threads.jobs import call

OWNER, DOOR, NUMBER, CODE, GIVEN, COMING, AWAKE = (APART * k for k in range(7))
"""Whether a caller has the board; OPEN and how many helpers are in, 0 where it is closed; of the job; its function and
what that is given, addresses; how many jobs have been announced; from here on, whether each helper looks."""
KEEPS = 2  # in the place of an owner: whatever comes is not done, but kept, see kept.py
OPEN = 1 << 32
POLITE = 4096  # looks, before another thread may have the processor: who gives way often is left waiting for it


def board(helpers: int) -> NDArray[np.int64]:
    """For so many threads beside the caller's."""
    return np.zeros(AWAKE + APART * (helpers + 1), np.int64)


def num_threads(board: NDArray[np.int64]) -> int:
    """Those that may take part in a job: the caller, and the helpers that the board has places for."""
    return max(1, (len(board) - AWAKE) // APART)


@inlined()
def is_attended(board):  # type: ignore[no-untyped-def]
    """Whether a helper looks; nobody does at a board of no words."""
    awake = 0
    for helper in range(AWAKE, board.shape[0] - APART, APART):
        awake |= seen(board, helper)
    return awake != 0


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
