"""Interruptions that come between any two of Python's instructions, which is more often than they can."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

BEGINNING = "RESUME"  # of a function
WHERE_HANDLERS_RUN = BEGINNING, "CALL", "JUMP_BACKWARD"


def between(
    act: Callable[[], object], place: int, meanwhile: Callable[[], object], *files: str, behind: tuple[str, ...] = ("",)
) -> bool:
    """Whether there was such a place, counted from 0, between two instructions of code in files of these names; others
    get in there. behind: what the names of the first of the two begin with."""
    places, was, last = count(), [False], {}

    def step(frame, event, _):
        if event == "opcode":
            before, last[frame] = last.get(frame, BEGINNING), dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before.startswith(behind) and next(places) == place:
                sys.settrace(None)
                was[0] = True
                meanwhile()
        return step

    def begin(frame, *_):
        if Path(frame.f_code.co_filename).name not in files:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    sys.settrace(begin)
    try:
        act()
    finally:
        sys.settrace(None)
        last.clear()  # frames hold what stands in them
    return was[0]


def interrupted(act: Callable[[], object], place: int, *files: str) -> bool:
    """The same; there act() is interrupted as by ctrl-C, which must reach us."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    try:
        found = between(act, place, interrupt, *files)
    except KeyboardInterrupt:
        return True
    assert not found
    return False
