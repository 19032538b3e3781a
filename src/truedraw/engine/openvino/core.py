"""The runtime's core, made so that signals still reach the thread that made it when the core is gone.

A core's plug-in gives the thread that loads it another stack for signals, and frees that stack with itself. Of two
cores that end in the order they began, the second one puts the first one's stack back, which is freed: the next signal,
a ctrl-C, would end the process with a segmentation fault. So the thread gets its own stack back at once.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

KEPT: list[Any] = []  # cores whose stack could not be taken back: they must not end


class SignalStack(ctypes.Structure):
    """stack_t of Linux."""

    _fields_ = (("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def core() -> Any:
    """A fresh openvino.Core, its plug-in for the CPU loaded."""
    import openvino as ov

    with own_signal_stack() as kept:
        made = ov.Core()
        made.get_property("CPU", "FULL_DEVICE_NAME")
    KEPT.extend([made] * len(kept))
    return made


@contextmanager
def own_signal_stack() -> Iterator[list[str]]:
    """Puts this thread's stack for signals back; where the system does not take it, the list says so afterwards."""
    failed: list[str] = []
    if sys.platform != "linux":
        yield failed
        return
    libc, before = ctypes.CDLL(None, use_errno=True), SignalStack()
    libc.sigaltstack(None, ctypes.byref(before))
    try:
        yield failed
    finally:
        if libc.sigaltstack(ctypes.byref(before), None):
            failed.append(f"error {ctypes.get_errno()}")
