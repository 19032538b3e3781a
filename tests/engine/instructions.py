"""Interruptions that come between any two of Python's instructions, which is more often than they can."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path


def interrupted(act: Callable[[], object], place: int, *files: str) -> bool:
    """Whether there was such a place, counted from 0, between two instructions of code in files of these names."""
    places = count()

    def step(frame, event, _):
        if event == "opcode" and next(places) == place:
            sys.settrace(None)
            raise KeyboardInterrupt
        return step

    def begin(frame, *_):
        if Path(frame.f_code.co_filename).name not in files:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    sys.settrace(begin)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False
