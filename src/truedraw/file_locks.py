"""Locks of whole files: one process at a time has one, until it closes the file or ends, however it does.

Windows has locks of single bytes in their place, which others can then neither read nor write: one that lies far behind
the end of any file stands for the whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

FAR = (1 << 40) + (1 << 31) - 2  # the byte
RETRY_SECONDS = 0.1
SILENT_SECONDS = 2.0  # behind which somebody who waits is told for what


class Waits:
    """Whoever is to be told that this process waits for another one: what that does, and its number if it is known."""

    told: Callable[[str, int | None], object] | None = None

    def tell(self, what: str, process: int | None) -> None:
        """Nothing where nobody is."""
        if self.told is not None:
            self.told(what, process)


WAITS = Waits()
"""Of this process."""


def nobody() -> None:
    """Who is told of nothing."""


def wait_for(file: int, told: Callable[[], object] = nobody) -> None:
    """Until nobody else has the lock of this open file; then it is ours, also where there are none of any kind.

    `told` is called where that takes a while.
    """
    until, is_told = time.monotonic() + SILENT_SECONDS, False
    while not is_free(file):
        if not is_told and time.monotonic() >= until:
            told()
            is_told = True
        time.sleep(RETRY_SECONDS)


def is_free(file: int) -> bool:
    """Whether nobody else has it; then it is ours. Raises OSError where the file's disk has no locks."""
    try:
        if (fcntl := _module("fcntl")) is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif (msvcrt := _module("msvcrt")) is not None:
            _lock_byte(file, msvcrt)
    except (BlockingIOError, PermissionError):
        return False
    return True


def may_replace_open() -> bool:
    """Whether the system lets another file take the place of one that is open."""
    return _module("fcntl") is not None


def _lock_byte(file: int, msvcrt: Any) -> None:
    place = os.lseek(file, 0, os.SEEK_CUR)
    os.lseek(file, FAR, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    finally:
        os.lseek(file, place, os.SEEK_SET)


def _module(name: str) -> Any:
    """None where this system has none of that name."""
    try:
        return import_module(name)
    except ImportError:
        return None
