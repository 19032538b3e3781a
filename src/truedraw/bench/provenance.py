"""Under which conditions numbers were measured."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from truedraw import __version__
from truedraw.generate.speculation import Speculation
from truedraw.sampling.params import SamplingParams

PACKAGES = ("openvino", "numpy", "numba", "tokenizers")


def machine() -> dict[str, Any]:
    """The processor, the system and the versions of what computes."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {"truedraw": __version__, **{name: version_of(name) for name in PACKAGES}},
    }


def settings(params: SamplingParams, speculation: Speculation) -> dict[str, Any]:
    """What was sampled and with what it was speculated."""
    return {"sampling": asdict(params), "speculation": speculation.config()}


def drawn(params: SamplingParams, speculation: Speculation) -> dict[str, Any]:
    """The same, and whether the rule keeps the model's distribution."""
    return {**settings(params, speculation), "exact": speculation.verifier(None).exact}


def version_of(package: str) -> str | None:
    """Of an installed package, None without it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    """The processor's name where the system tells it, else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
