"""What may go wrong with stdout: a reader that goes away early, as head does, is no error; a full disk is one."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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


def mark_output() -> None:
    """From here on stdout raises OutputError, unless it is a terminal, which is never full."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or out.isatty():
        return
    out.flush()
    raw = Output(out.fileno(), "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        out.encoding,
        out.errors,
        line_buffering=out.line_buffering,
        write_through=out.write_through,
    )


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
