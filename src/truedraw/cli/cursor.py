"""A terminal as it was: its cursor, which a bar hides, and that it shows what is typed, which readline switches off."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import TextIO

SHOW = b"\x1b[?25h"
WITHOUT = ("dumb", "unknown")  # terminals that have no bars


def show_cursor() -> None:
    """For whoever ends the program in the midst of what hides it, past all that would show it again."""
    with suppress(OSError, ValueError, AttributeError):
        file = sys.stderr.fileno()  # behind a bar, sys.stderr is rich's, which before 15 denies to be a terminal
        if os.isatty(file) and os.environ.get("TERM", "").lower() not in WITHOUT:
            os.write(file, SHOW)


def show_cursor_when_ended() -> None:
    """From here on SIGTERM ends the program as ever, with the cursor shown where stderr is a terminal."""
    if sys.stderr.isatty() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, partial(_end, _nothing))


def restore_when_ended(file: TextIO) -> None:
    """From here on SIGTERM also makes the terminal that lines are typed in again as it is now."""
    try:
        import termios
    except ImportError:  # no such terminals
        return
    if not _is_own(signal.getsignal(signal.SIGTERM)):
        return
    with suppress(OSError, ValueError, termios.error):
        settings = termios.tcgetattr(number := file.fileno())
        restore = partial(termios.tcsetattr, number, termios.TCSANOW, settings)
        signal.signal(signal.SIGTERM, partial(_end, partial(_restore, number, restore)))


def _is_own(handler: object) -> bool:
    """Whether nobody else wants to know of the signal, or not to be ended by it."""
    return handler is signal.SIG_DFL or (isinstance(handler, partial) and handler.func is _end)


def _restore(number: int, restore: Callable[[], object]) -> None:
    with suppress(Exception):  # the terminal may be gone
        if not _is_in_background(number):
            restore()


def _is_in_background(number: int) -> bool:
    """Whether a terminal stops this program where that changes it."""
    try:
        return os.tcgetpgrp(number) != os.getpgrp()
    except OSError:  # of no group of programs, and stops none
        return False


def _nothing() -> None:
    """Where nothing is typed."""


def _end(restore: Callable[[], object], number: int, _frame: FrameType | None) -> None:
    show_cursor()
    restore()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
