"""Lines of a pipe or a terminal, of which one can ask whether the next is there already."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from io import UnsupportedOperation
from typing import BinaryIO

CHUNK = 1 << 16  # bytes


class ArrivingLines:
    """As a binary file gives them, read from its descriptor, so nobody else may read it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []  # of a line whose end has not come
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        """Waits for it."""
        while not self._lines:
            if self._ended:
                raise StopIteration
            self._read()
        return self._lines.popleft()

    def is_ready(self) -> bool:
        """Whether one is there, or the end, or an error, which whoever reads it meets."""
        with suppress(OSError):
            while not self._ended and not self._lines:
                if not select.select([self._descriptor], [], [], 0)[0]:
                    return False
                self._read()
        return True

    def _read(self) -> None:
        select.select([self._descriptor], [], [])  # a descriptor may be one that does not wait by itself
        chunk = os.read(self._descriptor, CHUNK)
        self._ended = not chunk
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._lines.append(b"".join((*self._begun, line, b"\n")))
            self._begun.clear()
        self._begun.append(rest)
        if self._ended and any(self._begun):
            self._lines.append(b"".join(self._begun))


def arriving(file: BinaryIO) -> BinaryIO | ArrivingLines:
    """The file itself where it can be read twice, or where the system cannot tell whether something is there."""
    try:
        return file if os.name != "posix" or file.seekable() else ArrivingLines(file.fileno())
    except UnsupportedOperation:
        return file


def is_ready(lines: BinaryIO | ArrivingLines) -> bool:
    """Whether the next line can be had without waiting."""
    return not isinstance(lines, ArrivingLines) or lines.is_ready()
