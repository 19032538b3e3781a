"""Jobs that compiled code does again and again, by their addresses."""

from __future__ import annotations

import gc
import time

import numba
import numpy as np
import pytest

from threads.hoarding import hoard
from truedraw.threads import clock
from truedraw.threads import kept as kept_jobs
from truedraw.threads.board import KEEPS, OWNER, board, share, together
from truedraw.threads.crew import Crew
from truedraw.threads.jobs import this_call
from truedraw.threads.kept import Kept
from truedraw.threads.stages import counters, done, ended, next_piece


@numba.njit(nogil=True)
def add(board, given, takes_part):
    """out += amount times numbers, a piece each."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    (numbers, out), amount, stages = given
    piece = next_piece(stages, 0, len(numbers))
    while piece >= 0:
        out[piece] += amount * numbers[piece]
        piece = done(stages, 0, len(numbers))
    ended(stages, 0, len(numbers))


@numba.njit(nogil=True)
def again(board, job, numbers, stages, times):
    """So many times, each with larger numbers; how often it raised."""
    failed = 0
    for _ in range(times):
        stages[:] = 0
        failed += together(board, job[0], job[1])
        for k in range(len(numbers)):
            numbers[k] += 1
    return failed


@pytest.mark.parametrize("threads", [1, 3])
def test_what_it_was_given_may_change_in_place(threads) -> None:
    crew, numbers, out, stages = Crew(threads), np.arange(5.0), np.zeros(5), counters(1)
    kept = Kept(add, ((numbers, out), 2.0, stages))
    assert not out.any()  # it was kept, and not done
    crew.wake()
    assert again(crew.board, kept.addresses, numbers, stages, 4) == 0
    assert np.array_equal(out, 2.0 * (4 * np.arange(5.0) + 0 + 1 + 2 + 3))
    assert crew.board[OWNER] == 0


def test_it_holds_what_it_was_given() -> None:
    def made():
        numbers, stages = np.full(4, 7.0), counters(1)
        return Kept(add, ((numbers, out), 1.0, stages)), stages

    out, crew = np.zeros(4), Crew(1)
    kept, stages = made()
    gc.collect()
    assert [np.full(4, 1.0) for _ in range(100)]  # memory that was free is not any more
    again(crew.board, kept.addresses, np.zeros(1), stages, 1)
    assert np.array_equal(out, np.full(4, 7.0))


def test_one_that_fails_says_so() -> None:
    numbers, here = np.zeros(1), board(0)
    kept = Kept(hoard, (numbers, 1 << 60))
    assert again(here, kept.addresses, np.zeros(1), counters(1), 1) == 1


def test_more_than_there_is_room_for(monkeypatch) -> None:
    monkeypatch.setattr(kept_jobs, "MOST_WORDS", 3)
    with pytest.raises(ValueError, match="3 are kept at most"):
        Kept(add, ((np.zeros(1), np.zeros(1)), 2.0, counters(1)))


def test_a_board_of_a_crew_keeps_nothing() -> None:
    assert Crew(2).board[OWNER] != KEEPS


@numba.njit
def moment():
    return clock.nanoseconds()


@pytest.mark.skipif(not hasattr(time, "CLOCK_MONOTONIC"), reason="no such clock")
def test_the_clock_is_that_of_the_system() -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    here = moment()
    assert before <= here <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
