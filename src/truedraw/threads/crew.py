"""Threads that do a job together: the caller, and helpers, who look for one for a while (board.py) and then sleep."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from truedraw.threads.atomics import APART
from truedraw.threads.board import AWAKE, announce, board, serve
from truedraw.threads.processors import processors

PATIENCE = 1e-3  # seconds without a job, behind which a helper sleeps: to wake it takes a tenth of that
TRIED, TRIES = 2000, 8  # looks that are timed; how often: a thread that has to wait for the interpreter seems slow


class Crew:
    """So many threads, the caller's own among them.

    Whoever has been called once looks for more in machine code, where nothing has to be handed from one interpreter's
    thread to another. A helper may come late, or not at all, as in the child of a fork. Machine code that is given the
    board has those who still look take part in small jobs, for which nobody is called (board.is_attended).
    """

    def __init__(self, threads: int) -> None:
        self.num_threads, self.board = threads, board(threads - 1)
        self._helpers = [Helper(self.board, number) for number in range(threads - 1)]
        weakref.finalize(self, dismiss, self._helpers)

    def run(self, job: Callable[[Any, Any, bool], None], given: tuple[Any, ...]) -> None:
        """A job as board.py has them. Nobody else begins with it before the caller does."""
        self.wake()
        job(self.board, given, False)

    def wake(self) -> None:
        """Helpers look for what comes now."""
        announce(self.board)
        for helper in self._helpers:
            helper.call()

    def is_awake(self) -> bool:
        """Whether every helper looks."""
        return all(helper.is_awake() for helper in self._helpers)


class Helper:
    """One more thread."""

    def __init__(self, board: NDArray[Any], number: int) -> None:
        self._board, self._number = board, number
        self._wanted = threading.Lock()  # held while nothing is wanted
        self._wanted.acquire()
        self._ends = False
        threading.Thread(target=self._work, name="truedraw-pass", daemon=True).start()

    def call(self) -> None:
        """Look, unless it does."""
        if not self.is_awake():
            self._wake()

    def is_awake(self) -> bool:
        """Whether it looks."""
        return bool(self._board[AWAKE + APART * self._number])

    def end(self) -> None:
        """No more calls."""
        self._ends = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # it is about to look
            self._wanted.release()

    def _work(self) -> None:
        while True:
            self._wanted.acquire()
            if self._ends:
                return
            serve(self._board, self._number, looks_in(PATIENCE))


@cache
def looks_in(seconds: float) -> int:
    """How many looks a helper takes in that time, on this processor."""
    alone = board(1)
    serve(alone, 0, 1)  # machine code is there
    return max(1, int(seconds * TRIED / min(_timed(alone) for _ in range(TRIES))))


def _timed(alone: NDArray[Any]) -> float:
    before = perf_counter()
    serve(alone, 0, TRIED)
    return perf_counter() - before


_crews: weakref.WeakValueDictionary[tuple[int, int], Crew] = weakref.WeakValueDictionary()


def crew_of(threads: int) -> Crew:
    """The process's own: helpers that look for one model's jobs are at hand for another's, and not in its way."""
    which = os.getpid(), threads  # helpers do not live on in the child of a fork
    found = _crews.get(which)
    if found is None:
        found = _crews[which] = Crew(threads)
    return found


def dismiss(helpers: list[Helper]) -> None:
    """They end."""
    for helper in helpers:
        helper.end()


def threads_of(threads: int | None) -> int:
    """As many as processors that this process may use, unless it is said."""
    return processors() if threads is None else threads
