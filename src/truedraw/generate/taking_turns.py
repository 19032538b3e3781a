"""A lock whose holders take turns: who leaves and comes back lets those in who have waited meanwhile.

Whoever waits for the inside holds the gate, at which all others wait. What the garbage collector ends must not wait at
all, since it may come in any thread, at any time: it is done `soon`.

An interruption may come wherever a function of Python begins and wherever a call has returned. So the way out is C's
own `__exit__`, and what was taken on the way in is given back by the first call of the `except` around it.
"""

from __future__ import annotations

import os
from _thread import RLock
from collections import deque
from collections.abc import Callable, Generator
from typing import Any
from weakref import WeakSet, ref

from truedraw.errors import EngineError
from truedraw.handlers import pass_on


class TakingTurns(RLock):  # type: ignore[misc] # final for type checkers only
    """A context manager for several threads; the one inside, or its signal handlers, may enter again.

    Wherever an interruption comes, on the way in, inside or on the way out, the inside is free once the block is left.
    In the child of a fork it is free as well, but for one case: where another thread, which the child does not have,
    was inside, what it was changing is half changed. Entering raises EngineError then.
    """

    def __init__(self) -> None:
        self._gate = RLock()
        self.put_off: deque[Callable[[], object]] = deque()
        """What is to be done soon: whoever leaves looks here, and calls catch_up()."""
        self.passes: ref[Generator[Any]] | None = None
        """What was moved last, by whoever was inside; see are_passing."""
        self._is_catching_up = self._is_lost = False
        _all.add(self)

    @property
    def are_passing(self) -> bool:
        """Whether the one inside is in the midst of a pass: its scores are what the engine gave last."""
        passes = None if self.passes is None else self.passes()
        return passes is not None and is_running(passes)

    def __enter__(self) -> bool:  # type: ignore[override] # it is always waited for
        if self._is_lost:
            raise EngineError("another thread used the model when this process was forked; load it again in this one")
        is_mine = self._is_owned()  # type: ignore[attr-defined] # as threading.Condition asks it
        try:
            if is_mine:
                self.acquire()
            else:
                with self._gate:
                    self.acquire()
            return True
        except BaseException:  # an interruption
            try:  # noqa: SIM105 # suppress() may be interrupted
                self.release()
            except RuntimeError:  # it came before
                pass
            raise

    def soon(self, act: Callable[[], object]) -> None:
        """Do it inside: at once where that is free, or this thread's, else when others have left. Never waits.

        An error is lost; what an interruption ends, or what a signal's handler raises, is done again.
        """
        self.put_off.append(act)
        self.catch_up()

    def catch_up(self) -> None:
        """Do what was put off, unless another thread is inside, which will do it."""
        try:
            if self.acquire(blocking=False):
                self._catch_up()
        finally:
            try:  # noqa: SIM105
                self.release()
            except RuntimeError:  # another one is inside
                pass

    def forked(self) -> None:
        """In the child of a fork no thread lives on but this one."""
        self._gate = RLock()
        self._is_lost = not self.acquire(blocking=False)
        if not self._is_lost:
            self.release()

    def _catch_up(self) -> None:
        if self._is_catching_up:  # further down in this thread
            return
        try:
            self._is_catching_up = True
            while self.put_off:
                try:
                    self.put_off[0]()
                except Exception as error:
                    pass_on(error)  # but of what a signal's handler raises
                self.put_off.popleft()
        finally:
            self._is_catching_up = False


def is_running(passes: Generator[Any]) -> bool:
    """Whether it is being moved just now."""
    running: bool = passes.gi_running  # type: ignore[attr-defined] # of every generator
    return running


_all: WeakSet[TakingTurns] = WeakSet()


def forked() -> None:
    """See TakingTurns.forked."""
    for turns in tuple(_all):
        turns.forked()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=forked)
