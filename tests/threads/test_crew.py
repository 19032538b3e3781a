"""Threads that compute a pass together."""

from __future__ import annotations

import gc
import os
import threading
import time

import numba
import numpy as np
import pytest

from engine.decoder import tiny_engine
from threads.hoarding import hoard
from truedraw.engine.native.softly import exp
from truedraw.protocol import Proposal, Work
from truedraw.threads.atomics import APART, pause, seen, taken
from truedraw.threads.board import AWAKE, COMING, DOOR, OWNER, announce, board, serve, share
from truedraw.threads.crew import PATIENCE, Crew, Helper, crew_of, looks_in
from truedraw.threads.jobs import this_call
from truedraw.threads.stages import done, ended, next_piece

SECONDS = 20.0
RNG = np.random.default_rng(7)


def wait_for(condition) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.fixture
def crew():
    return Crew(3)


@numba.njit(nogil=True)
def mark(board, given, takes_part):
    """Who takes part waits for a while until so many do, and marks a place: all but the first after some more looks."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    marks, counters, wanted, patience, more = given
    place = taken(counters, 0)
    while seen(counters, 0) < wanted and patience > 0:
        patience -= 1
        pause()
    for _ in range(more if place else 0):
        pause()
    marks[place] = 1


@numba.njit(nogil=True)
def add(board, given, takes_part):
    """out = numbers + 1, piece by piece; the last counter says how often this has been begun."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    numbers, out, counters = given
    taken(counters, 2 * PLACES)
    piece = next_piece(counters, 0, len(numbers))
    while piece >= 0:
        out[piece] = numbers[piece] + 1
        piece = done(counters, 0, len(numbers))
    ended(counters, 0, len(numbers))


PLACES = 16  # of a counter


def given_numbers(size=40):
    numbers = np.arange(size)
    return numbers, np.zeros_like(numbers), np.zeros(3 * PLACES, np.int64)


def all_come(crew, wanted=3) -> bool:
    """Whether so many have come to a job: a helper that is not let run in time does not.

    One that falls asleep in the middle of a job for which it was woken comes twice: there is nothing left for it then.
    """
    marks = np.zeros(100, np.int64)
    crew.run(mark, (marks, np.zeros(1, np.int64), wanted, 200_000, 0))
    return marks.sum() >= wanted


@pytest.mark.parametrize("patience", [1e-9, PATIENCE, 0.2])
def test_every_thread_takes_part_asleep_or_not(crew, monkeypatch, patience) -> None:
    monkeypatch.setattr("truedraw.threads.crew.PATIENCE", patience)
    for _ in range(3):
        wait_for(lambda: all_come(crew))
        wait_for(lambda: patience > PATIENCE or not crew.board[AWAKE::APART].any())


@pytest.mark.parametrize("times", [0, 1])
def test_what_is_announced_is_waited_for(times: int) -> None:
    """A caller that sees a helper look does not wake it, and comes a moment later."""
    looks, here, found = looks_in(0.5), board(1), []
    helper = threading.Thread(target=lambda: found.append(serve(here, 0, looks)))
    helper.start()
    wait_for(lambda: here[AWAKE])
    for _ in range(times):
        announce(here)
    helper.join(SECONDS)
    assert not here[AWAKE]
    assert found == [looks * (1 + times)]


def test_a_job_is_announced_before_it_is_looked_who_is_awake(crew, monkeypatch) -> None:
    announced = []
    monkeypatch.setattr(Helper, "call", lambda self: announced.append(int(self._board[COMING])))
    for _ in range(2):
        crew.run(add, given_numbers())
    assert announced == [1, 1, 2, 2]


def test_whoever_is_in_is_waited_for(crew) -> None:
    together = 0
    for _ in range(200):
        marks, counters = np.zeros(100, np.int64), np.zeros(1, np.int64)
        crew.run(mark, (marks, counters, 3, 100_000, 50_000))
        assert marks.sum() == counters[0] <= 3
        together += counters[0] == 3
        if together == 5:
            break
    assert together


def test_a_want_of_memory_is_an_error_and_nobody_works_on_what_is_gone(crew) -> None:
    with pytest.raises(MemoryError, match="fewer at once"):
        crew.run(hoard, (np.zeros(1), 1 << 45))
    for _ in range(3):
        assert crew.board[DOOR] <= 0
        given = given_numbers()
        crew.run(add, given)
        np.testing.assert_array_equal(given[1], given[0] + 1)
        assert given[2][2 * PLACES] == 1


def test_nobody_has_to_come(crew, monkeypatch) -> None:
    monkeypatch.setattr(Helper, "call", lambda self: None)
    given = given_numbers()
    crew.run(add, given)
    np.testing.assert_array_equal(given[1], given[0] + 1)
    assert given[2][2 * PLACES] == 1


def test_what_was_given_is_left_alone_once_the_call_has_returned(crew) -> None:
    """Memory is used again at once, by whoever."""
    for _ in range(3000):
        numbers, out, counters = given = given_numbers(int(RNG.integers(1, 60)))
        crew.run(add, given)
        np.testing.assert_array_equal(out, numbers + 1)
        assert crew.board[DOOR] == crew.board[OWNER] == 0
        before = counters.copy()
        numbers[:] = out[:] = -1
        assert (counters == before).all()
        assert (out == -1).all()
        assert 1 <= before[2 * PLACES] <= 3


def test_two_callers_at_once_both_get_their_job_done(crew) -> None:
    """The second one alone."""
    marks, counters = np.zeros(100, np.int64), np.zeros(1, np.int64)
    given = marks, counters, 4, 10**12, 0  # waits for one more than there are threads
    first = threading.Thread(target=crew.run, args=(mark, given))
    first.start()
    wait_for(lambda: counters[0] == 3)
    given = given_numbers()
    crew.run(add, given)
    np.testing.assert_array_equal(given[1], given[0] + 1)
    assert given[2][2 * PLACES] == 1
    with pytest.raises(MemoryError):
        crew.run(hoard, (np.zeros(1), 1 << 45))
    counters[0] = 4
    first.join(SECONDS)
    assert not first.is_alive()
    wait_for(lambda: all_come(crew))


def test_many_callers(crew) -> None:
    wrong = []

    def work() -> None:
        for _ in range(300):
            numbers, out, _ = given = given_numbers()
            crew.run(add, given)
            if not (out == numbers + 1).all():
                wrong.append(out)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(SECONDS)
    assert not any(caller.is_alive() for caller in callers)
    assert not wrong


def test_a_job_whose_caller_is_interrupted_is_not_begun(crew, monkeypatch) -> None:
    """A helper would be over pages that somebody is about to free."""

    def interrupted(self) -> None:
        raise KeyboardInterrupt

    given = given_numbers()
    with monkeypatch.context() as patch:
        patch.setattr(Helper, "call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            crew.run(add, given)
    wait_for(lambda: all_come(crew))
    assert not given[1].any()


def test_threads_end_with_their_crew() -> None:
    before = set(threading.enumerate())
    crew = Crew(4)
    crew.run(add, given_numbers())
    threads = set(threading.enumerate()) - before
    assert len(threads) == 3
    del crew
    gc.collect()
    wait_for(lambda: not any(thread.is_alive() for thread in threads))


def test_models_share_the_threads_of_the_process(tmp_path) -> None:
    engines = [tiny_engine(tmp_path, numerics="native", threads=2) for _ in range(2)]
    assert engines[0].crew is engines[1].crew
    assert engines[0].crew.num_threads == 2
    assert tiny_engine(tmp_path, numerics="runtime").crew is None
    for engine in engines:
        engine.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_child_of_a_fork_gets_threads_of_its_own() -> None:
    crew, (reading, writing) = crew_of(2), os.pipe()
    all_come(crew, 2)
    child = os.fork()
    if not child:
        try:
            wait_for(lambda: all_come(crew_of(2), 2))
            os.write(writing, b"both")
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 9) == b"both"
    os.waitpid(child, 0)
    os.close(reading)
    assert crew_of(2) is crew


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_child_of_a_fork_computes_alone(tmp_path) -> None:
    engine = tiny_engine(tmp_path, numerics="native", threads=2)
    text = list(range(1, 40))

    def logits() -> np.ndarray:
        sequence = engine.open(text, alone=True)
        found = engine.forward([Work(sequence, Proposal.chain([4, 5]))])[0].logits.copy()
        sequence.close()
        return found

    expected, (reading, writing) = logits(), os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, b"same" if all(np.array_equal(logits(), expected) for _ in range(3)) else b"other")
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 9) == b"same"
    os.waitpid(child, 0)
    os.close(reading)
    engine.close()


def test_exp_of_what_is_no_number_is_none() -> None:
    @numba.njit(error_model="numpy")
    def all_of(values, out):
        for k in range(len(values)):
            out[k] = exp(values[k])

    values = np.array([0, -1, -20, -86, -200, -np.inf, np.nan], np.float32)
    found = np.zeros_like(values)
    all_of(values, found)
    np.testing.assert_allclose(found[:4], np.exp(values[:4].astype(np.float64)), rtol=1e-6)
    assert (found[4:6] < 1e-37).all()
    assert np.isnan(found[6])
