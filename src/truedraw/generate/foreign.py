"""Calls of somebody else's code, made in the caller's own thread: what goes wrong in one is said with the plug-in's
name, and none ends the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from truedraw.errors import BadParameter, TruedrawError
from truedraw.handlers import fault_of

Found = TypeVar("Found")


def asked(parameter: str, what: str, act: Callable[[], Found]) -> Found:
    """What `act` returns; raises BadParameter, which begins with `what`, for whatever it raises but errors of ours."""
    try:
        return act()
    except BaseException as error:
        said = fault_of(error)
        if isinstance(error, TruedrawError):
            raise
        raise BadParameter(parameter, f"{what}: {said}") from error
