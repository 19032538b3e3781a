"""OpenVINO without its telemetry.

Where nobody has said otherwise its Python package tells its makers' servers that it was imported, and keeps a number
for the user in the home folder. What draws texts on somebody's own machine tells nobody. A program that has imported it
before keeps it as it is.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

TELEMETRY = "openvino_telemetry"
LOCK = Lock()


@cache
def openvino() -> Any:
    """The package, imported when it is first asked for."""
    with LOCK:
        if "openvino" in sys.modules or TELEMETRY in sys.modules:
            return import_module("openvino")
        sys.modules[TELEMETRY] = None  # type: ignore[assignment] # an error, for which it has functions that do nothing
        try:
            return import_module("openvino")
        finally:
            del sys.modules[TELEMETRY]


@cache
def operations() -> Any:
    """What its graphs are built of."""
    openvino()
    return import_module("openvino.opset13")
