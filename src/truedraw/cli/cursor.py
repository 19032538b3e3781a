"""The cursor of a terminal, which a bar hides for as long as it is there."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

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
        signal.signal(signal.SIGTERM, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    show_cursor()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
