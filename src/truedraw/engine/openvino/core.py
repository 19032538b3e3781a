"""The runtime's core, one for the whole process.

The first graph of a core gives its thread another stack for signals, which is freed with the core. Where two cores end
in the order they began, the older one's stack stays in use though it is freed, and the next signal, a ctrl-C, would end
the process with a segmentation fault.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

_ONE_AT_A_TIME = Lock()


def core() -> Any:
    """openvino.Core, made when first asked for, and kept."""
    with _ONE_AT_A_TIME:
        return _core()


@cache
def _core() -> Any:
    import openvino as ov

    return ov.Core()
