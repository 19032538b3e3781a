"""The terminal of a conversation, which the editing of lines changes while one is typed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from truedraw.cli.cursor import WITHOUT

PASTED_AS_TYPED = b"\x1b[?2004l"


@contextmanager
def given_back() -> Iterator[None]:
    """Inside, what ends the program by SIGTERM leaves stdin's terminal as it is now: with echo, and pastes unmarked."""
    before = signal.getsignal(signal.SIGTERM)
    if os.name != "posix" or before is signal.SIG_IGN:
        yield
        return
    import termios

    mode = termios.tcgetattr(sys.stdin)

    def end(number: int, _frame: FrameType | None) -> None:
        with suppress(OSError, termios.error):
            _restore(mode)
        signal.signal(number, before)
        signal.raise_signal(number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _restore(mode: list[Any]) -> None:
    import termios

    if not _is_ours():
        return
    termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)
    if os.environ.get("TERM", "").lower() not in WITHOUT:
        os.write(sys.stdout.fileno(), PASTED_AS_TYPED)


def _is_ours() -> bool:
    """Whether nobody else has the terminal: a program that was stopped has given it back already."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # it controls no program at all
        return True
