"""Errors out of handlers of signals: a deadline by an alarm, say.

Python runs a handler in the midst of whatever the main thread is at, so what it raises looks like an error of that
code, and is its caller's.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import Any


def pass_on(error: BaseException) -> None:
    """Raise it anew, or what it was made of, where a handler of signals raised that; else nothing happens.

    For code that takes any Exception for a mistake of what it has called.
    """
    if (raised := _of_handler(error)) is not None:
        raise raised


def is_of_handler(error: BaseException) -> bool:
    """Whether `pass_on` raises something."""
    return _of_handler(error) is not None


def _of_handler(error: BaseException) -> BaseException | None:
    """The first of an error and what it was made of that came through a handler."""
    codes = {*_codes()}
    cause: BaseException | None = error
    while cause is not None and codes.isdisjoint(_passed(cause)):
        cause = cause.__cause__
    return cause


def _codes() -> Iterator[CodeType]:
    """Of all handlers that are set, as far as they are Python's."""
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        for function in (handler, getattr(handler, "__func__", None), vars(type(handler)).get("__call__")):
            if isinstance(code := getattr(function, "__code__", None), CodeType):
                yield code


def _passed(error: BaseException) -> Iterator[CodeType]:
    """What it came through, from where it was caught to where it was raised."""
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code
        step = step.tb_next
