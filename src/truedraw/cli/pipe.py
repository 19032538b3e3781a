"""What may go wrong with stdout: a reader that goes away early, as head does, is no error; a full disk is one.

What goes to stderr stands beside the output, which is no worse for a stderr that cannot be written to.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


class OutputError(OSError):
    """What is written to stdout does not arrive."""


class Output(io.FileIO):
    """stdout, whose errors can be told from those of all other files."""

    def write(self, data: Any, /) -> int:
        """Raises OutputError, or BrokenPipeError where nobody reads any more."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from error


class Remarks(io.FileIO):
    """stderr, which drops what cannot be written."""

    def write(self, data: Any, /) -> int:
        """All of it, as far as the writer can tell: also where nobody reads any more, which only stdout is told of."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


def mark_output() -> None:
    """From here on stdout raises OutputError and stderr no error: a terminal, too, may be closed while a run that was
    told not to mind goes on."""
    sys.stdout = _over(Output, sys.stdout)
    sys.stderr = _over(Remarks, sys.stderr)


def _over(kind: type[io.FileIO], stream: TextIO) -> TextIO:
    """The same stream over a file of another kind; a console of Windows, which takes no bytes, stays as it is."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    if type(getattr(stream.buffer, "raw", stream.buffer)) is not io.FileIO:
        return stream
    with suppress(OSError):
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(stream.fileno(), "w", closefd=False)),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def write_line(line: bytes) -> None:
    """To stdout as it is, at once, whatever a text would be encoded in."""
    raw = getattr(sys.stdout, "buffer", None)
    sys.stdout.flush()
    if raw is None:
        sys.stdout.write(line.decode())
    else:
        raw.write(line)
    sys.stdout.flush()


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """Leaves the block when nobody reads stdout any more; from then on it goes nowhere, even at exit."""
    try:
        yield
    except BrokenPipeError:
        stdout_to_nowhere()


def stdout_to_nowhere() -> None:
    """What is still to be written, even at exit, is dropped."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
