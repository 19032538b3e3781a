"""A terminal as it was: its cursor, which a bar hides, and that it shows what is typed, which readline switches off."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import TextIO

SHOW = b"\x1b[?25h"
WITHOUT = ("dumb", "unknown")  # terminals that have no bars
AGAIN = 0.1  # seconds


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
        _be_heard()


def _be_heard() -> None:
    """Python hears of a signal when what it waits for is broken off: one that comes just before the wait for a key
    begins would be heard of with the next key. So it is sent again until it ends the program."""
    told, tells = os.pipe()
    os.set_blocking(tells, False)
    if (before := signal.set_wakeup_fd(tells, warn_on_full_buffer=False)) != -1:  # somebody else's
        signal.set_wakeup_fd(before)
        os.close(told)
        os.close(tells)
        return
    threading.Thread(target=_send_again, args=(told, threading.get_ident()), daemon=True).start()


def _send_again(told: int, main: int) -> None:
    while came := os.read(told, 64):
        while signal.SIGTERM in came and _is_own(signal.getsignal(signal.SIGTERM)):
            time.sleep(AGAIN)
            signal.pthread_kill(main, signal.SIGTERM)


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
