"""Threads that run the same compiled function together, each over the same arguments."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any


class Crew:
    """So many threads, the caller's own among them; the others sleep between two calls.

    The function must be one that is whole when the caller's own call of it has returned, whoever else took part: a
    helper may come late, or not at all, as in the child of a fork.
    """

    def __init__(self, threads: int) -> None:
        self.num_threads = threads
        self._helpers = [Helper() for _ in range(threads - 1)]
        weakref.finalize(self, dismiss, self._helpers)

    def run(self, function: Callable[..., Any], *given: Any) -> None:
        """Of every thread's call the caller's own: made whatever happens, as nobody may work for one that is not."""
        try:
            for helper in self._helpers:
                helper.call(function, given)
        finally:
            function(*given)


class Helper:
    """One more thread."""

    def __init__(self) -> None:
        self._job: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        self._wanted = threading.Lock()  # held while nothing is wanted
        self._wanted.acquire()
        self._ends = False
        threading.Thread(target=self._work, name="truedraw-pass", daemon=True).start()

    def call(self, function: Callable[..., Any], given: tuple[Any, ...]) -> None:
        """Take part; where it has not begun the last one, that is left out."""
        self._job = function, given
        self._wake()

    def end(self) -> None:
        """No more calls."""
        self._ends = True
        self._wake()

    def _wake(self) -> None:
        if self._wanted.locked():  # else it has not taken the last call yet
            self._wanted.release()

    def _work(self) -> None:
        while True:
            self._wanted.acquire()
            if self._ends:
                return
            job, self._job = self._job, None
            if job is not None:
                job[0](*job[1])
            job = None  # its arrays are not to outlive it


def dismiss(helpers: list[Helper]) -> None:
    """They end."""
    for helper in helpers:
        helper.end()
