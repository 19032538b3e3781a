"""The runtime's core, made so that signals still reach the thread that made it when the core is gone.

A core's plug-in gives the thread that loads it another stack for signals, and frees that stack with itself. Of two
cores that end in the order they began, the second one puts the first one's stack back, which is freed: the next signal,
a ctrl-C, would end the process with a segmentation fault. So the thread gets its own stack back at once.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from truedraw.silent_openvino import openvino

KEPT: list[Any] = []  # cores whose stack could not be taken back: they must not end


class SignalStack(ctypes.Structure):
    """stack_t of Linux."""

    _fields_ = (("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def core() -> Any:
    """A fresh openvino.Core, its plug-in for the CPU loaded."""
    ov = openvino()

    before = _signal_stack()
    try:
        made = ov.Core()
        made.get_property("CPU", "FULL_DEVICE_NAME")
    finally:
        put_back = _put_back(before)
    if not put_back:
        KEPT.append(made)
    return made


@cache
def computes(precision: str) -> bool:
    """Whether this processor has instructions for it, as the runtime sees them; "bf16", for one."""
    return precision.upper() in core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def _signal_stack() -> SignalStack | None:
    """This thread's; None on systems whose plug-in leaves it alone."""
    if sys.platform != "linux":
        return None
    found = SignalStack()
    ctypes.CDLL(None).sigaltstack(None, ctypes.byref(found))
    return found


def _put_back(stack: SignalStack | None) -> bool:
    """Whether this thread has it now; the system refuses one that has become too small."""
    return stack is None or ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
