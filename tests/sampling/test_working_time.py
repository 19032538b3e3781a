"""Compiling is no part of a run."""

from threading import Event, Thread
from time import perf_counter, sleep

import numba
import numpy as np
from numba.core import event

from truedraw.generate.job import Job
from truedraw.sampling import working_time
from truedraw.sampling.randomness import warm_up
from truedraw.sampling.working_time import COMPILER, Compiler, working_seconds


class Clock:
    """Goes on when it is told to."""

    now = 100.0

    def __call__(self):
        return self.now


def stopped(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(working_time, "perf_counter", clock)
    return clock


def compiling():
    return event.trigger_event("numba:compile", data={})


def test_the_clock_stands_still_while_something_is_compiled(monkeypatch):
    COMPILER.watch()
    clock = stopped(monkeypatch)
    start = working_seconds()
    clock.now += 1
    with compiling():
        clock.now += 40
        with compiling():  # what it calls is compiled meanwhile
            clock.now += 2
    clock.now += 0.5
    assert working_seconds() - start == 1.5


def test_it_stands_still_already_while_that_goes_on(monkeypatch):
    COMPILER.watch()
    clock = stopped(monkeypatch)
    start = working_seconds()
    clock.now += 1
    with compiling():
        clock.now += 40
        assert working_seconds() - start == 1
        beside = working_seconds()
        clock.now += 2
    clock.now += 0.5
    assert working_seconds() - beside == 0.5


def test_it_never_goes_back_beside_a_thread_that_compiles():
    over = Event()

    def compile_often():
        while not over.is_set():
            COMPILER.begin()
            sleep(1e-3)
            COMPILER.end()

    thread = Thread(target=compile_often)
    thread.start()
    last = perf_counter() + 0.3
    seen = []
    while perf_counter() < last:
        seen.append(working_seconds())
    over.set()
    thread.join()
    assert min(np.diff(seen)) > -1e-9  # the rounding of a sum


def test_a_job_does_not_last_longer_for_it(monkeypatch):
    COMPILER.watch()
    clock = stopped(monkeypatch)
    job = Job((0,), None, [])
    job.opened_at = working_seconds()
    clock.now += 1
    with compiling():
        clock.now += 40
    assert job.seconds == 1


def test_watching_twice_counts_once(monkeypatch):
    clock, compiler = stopped(monkeypatch), Compiler()
    compiler.watch()
    compiler.watch()
    with compiling():
        clock.now += 3
    event.unregister("numba:compile", compiler._listener)
    assert compiler.seconds == 3


def test_its_beginning_is_told_once(monkeypatch):
    compiler, told = Compiler(), []
    stopped(monkeypatch)
    compiler.begins = lambda: told.append(compiler.seconds)
    assert told == []
    for _ in range(3):
        compiler.begin()
        compiler.begin()
        compiler.end()
        compiler.end()
    assert told == [0.0]


def test_a_loaded_model_watches_the_compiler_itself():
    warm_up()
    before = COMPILER.seconds
    numba.njit(lambda x: x + 1)(np.float32(len("new")))
    assert COMPILER.seconds > before
