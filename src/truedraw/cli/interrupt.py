"""ctrl-C keeps what there is."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Interruptible(Protocol):
    """What can be asked to end early, from a signal handler."""

    def interrupt(self) -> None:
        """End soon, and keep what there is."""
        ...


@contextmanager
def interruptible(run: Interruptible) -> Iterator[None]:
    """Inside, the first ctrl-C ends the run after its round and the second one the process.

    A background job of a script, which is started so that ctrl-C does not concern it, goes on.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return

    def first(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        run.interrupt()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
