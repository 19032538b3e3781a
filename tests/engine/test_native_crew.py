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
from truedraw.engine.native.crew import Crew, Helper
from truedraw.engine.native.softly import exp
from truedraw.protocol import Proposal, Work

SECONDS = 20.0


def wait_for(condition) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_every_thread_makes_the_call() -> None:
    seen, together = set(), threading.Barrier(3, timeout=SECONDS)

    def work(number: int) -> None:
        together.wait()
        seen.add((threading.get_ident(), number))

    Crew(3).run(work, 5)
    wait_for(lambda: len(seen) == 3)
    assert {number for _, number in seen} == {5}


def test_a_helper_that_is_late_leaves_out_what_is_over() -> None:
    """The caller does not wait for it."""
    calls, held = [], threading.Event()
    crew = Crew(2)
    crew.run(lambda number: threading.current_thread() is threading.main_thread() or held.wait(SECONDS), 0)
    for number in range(1, 4):
        crew.run(lambda number: calls.append((number, threading.current_thread() is threading.main_thread())), number)
    assert calls == [(1, True), (2, True), (3, True)]
    held.set()
    wait_for(lambda: len(calls) == 4)
    assert calls[3] == (3, False)


def test_the_caller_s_call_is_made_though_it_is_interrupted(monkeypatch) -> None:
    """A helper may have begun, over pages that somebody is about to free."""

    def interrupted(self, *given) -> None:
        raise KeyboardInterrupt

    calls, crew = [], Crew(2)
    monkeypatch.setattr(Helper, "call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        crew.run(calls.append, 1)
    assert calls == [1]


def test_threads_end_with_their_crew() -> None:
    before = set(threading.enumerate())
    crew = Crew(4)
    threads = set(threading.enumerate()) - before
    assert len(threads) == 3
    del crew
    gc.collect()
    wait_for(lambda: not any(thread.is_alive() for thread in threads))


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
