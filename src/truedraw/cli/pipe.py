"""A reader that goes away early, as head does, is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
