"""Several kept jobs as one."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from truedraw.threads.board import share
from truedraw.threads.crew import crew_of
from truedraw.threads.each import Each, each_done
from truedraw.threads.jobs import this_call
from truedraw.threads.kept import Kept

JOBS, PLACES = 40, 3


@numba.njit(nogil=True)
def mark(board, given, takes_part):
    """In the memory of its place; it waits for a while, or says that there is no memory."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    number, place, found, poor = given
    if number == poor:
        found[number] = len(np.empty(1 << 60))
    total = 0.0
    for k in range(20_000):
        total += np.sqrt(k + number)
    found[number] += place if total > 0 else -1


@numba.njit(nogil=True)
def fail_first(board, given, takes_part):
    """For want of memory, but no more than once."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    given[0] += 1
    if given[0] == 1:
        given[0] = len(np.empty(1 << 60)) * 0 + 1


@numba.njit(nogil=True)
def done(board, asked):
    return each_done(board, asked)


def made(places: int, poor: int = -1) -> tuple[Each, np.ndarray]:
    found = np.zeros(JOBS, np.int64)
    jobs = [[Kept(mark, (k, 1 + 100 * place, found, poor)) for k in range(JOBS)] for place in range(places)]
    return Each(jobs), found


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("places", [1, 2, PLACES])
def test_each_is_done_once_by_one_that_has_a_place(places, threads) -> None:
    one, found = made(places)
    crew = crew_of(threads)
    for _ in range(20):
        found[:] = 0
        crew.wake()
        assert not done(crew.board, one.asked)
        assert set(found.tolist()) <= {1 + 100 * place for place in range(places)}


def test_one_that_raises_is_told_and_the_others_are_done() -> None:
    one, found = made(1, poor=7)
    assert done(crew_of(1).board, one.asked)
    assert found.tolist() == [int(k != 7) for k in range(JOBS)]


def test_what_raised_once_is_not_told_again() -> None:
    numbers = np.zeros(1, np.int64)
    one = Each([[Kept(fail_first, numbers)]])
    assert [done(crew_of(1).board, one.asked) for _ in range(3)] == [True, False, False]
    assert numbers.tolist() == [3]
