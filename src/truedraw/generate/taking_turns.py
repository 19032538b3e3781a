"""A lock whose holders take turns: who leaves and comes back lets those in who have waited meanwhile.

Whoever waits for the inside holds the gate, at which all others wait. What the garbage collector ends must not wait at
all, since it may come in any thread, at any time: it is done `soon`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import RLock
from types import TracebackType


class TakingTurns:
    """A context manager for several threads; the one inside, or its signal handlers, may enter again."""

    def __init__(self) -> None:
        self._gate, self._inside = RLock(), RLock()
        self._soon: deque[Callable[[], object]] = deque()

    def __enter__(self) -> None:
        if self._inside._is_owned():  # type: ignore[attr-defined] # as threading.Condition asks it
            self._inside.acquire()
            return
        try:
            with self._gate:
                self._inside.acquire()
        except BaseException:  # an interruption
            if self._inside._is_owned():  # type: ignore[attr-defined]
                self._inside.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while self._soon:
                with suppress(Exception):  # nobody is there to hear of it
                    self._soon.popleft()()
        finally:
            self._inside.release()

    def soon(self, act: Callable[[], object]) -> None:
        """Do it inside: at once where that is free, or this thread's, else when whoever is inside leaves. Never waits.

        What it raises is lost.
        """
        self._soon.append(act)
        if self._inside.acquire(blocking=False):
            self.__exit__(None, None, None)
