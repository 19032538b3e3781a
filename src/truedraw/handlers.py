"""Errors out of handlers of signals: a deadline by an alarm, say.

Python runs a handler in the midst of whatever the main thread is at, so what it raises looks like an error of that
code, and is its caller's.
"""

from __future__ import annotations

import signal
from inspect import getargvalues
from types import FrameType
from typing import TypeGuard

from truedraw.errors import in_words


def pass_on(error: BaseException) -> None:
    """Raise it anew, or what it was made of, where a handler of signals raised that; else nothing happens.

    For code that takes any Exception for a mistake of what it has called.
    """
    if (raised := _of_handler(error)) is not None:
        raise raised


def is_of_handler(error: BaseException) -> bool:
    """Whether `pass_on` raises something."""
    return _of_handler(error) is not None


def is_mistake(error: BaseException) -> TypeGuard[Exception]:
    """Whether the code that raised it is at fault: not where a handler did, or where it is no Exception, as ctrl-C."""
    return isinstance(error, Exception) and not is_of_handler(error)


def fault_of(error: BaseException) -> str:
    """In words, what a call of somebody else's code ended in, be it meant to end the program (SystemExit).

    Raises it anew where it is not that code's: ctrl-C, and what a handler of signals raises.
    """
    pass_on(error)
    if isinstance(error, KeyboardInterrupt):
        raise error
    return in_words(error)


def _of_handler(error: BaseException) -> BaseException | None:
    """The first of an error and what it was made of that came through a handler."""
    cause: BaseException | None = error
    while cause is not None and not _came_through_one(cause):
        cause = cause.__cause__
    return cause


def _came_through_one(error: BaseException) -> bool:
    """Whether one of the functions that it came through was called as handlers are: with a signal's number, and with
    the very frame that it came to next, which is the one that was interrupted."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        if _is_interrupted(step.tb_frame, step.tb_next.tb_frame):
            return True
        step = step.tb_next
    return False


def _is_interrupted(frame: FrameType, by: FrameType) -> bool:
    names, others, _, values = getargvalues(by)
    given = [*(values.get(name) for name in names), *(values.get(others, ()) if others else ())]
    has_number = any(isinstance(each, int) and each in signal.valid_signals() for each in given)
    return has_number and any(each is frame for each in given)
