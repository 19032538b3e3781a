"""What was found out about a model on a machine, in small files of the cache folder."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.engine.openvino.core import core
from truedraw.engine.processors import processors

if TYPE_CHECKING:
    from truedraw.engine.openvino.compiling import Options
    from truedraw.models import Checkpoint


def record_key(checkpoint: Checkpoint, options: Options) -> str:
    """Stands for this machine, model and way of computing."""
    runtime = _compiler() if options.arithmetic.native else _runtime()
    cores = str(processors())  # what a runtime without a number of threads takes
    parts = [*runtime, _processor_flags(), cores, checkpoint.fingerprint, repr(options)]
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def _runtime() -> list[str]:
    import openvino as ov

    machine = core()
    kinds = machine.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return [machine.get_property("CPU", "FULL_DEVICE_NAME"), *kinds, ov.__version__]


def _compiler() -> list[str]:
    """What decides what the machine code of this package's kernels is."""
    import llvmlite
    import numba

    from truedraw.compiled import sources
    from truedraw.engine.native import machine

    kernels = sources(Path(machine.__file__).parent)
    return [numba.__version__, llvmlite.__version__, *sorted(machine.FEATURES), kernels]


def read_record(file: Path) -> Any:
    """Raises OSError where there is none, ValueError where it is damaged."""
    return json.loads(file.read_text(encoding="utf-8"))


def write_record(file: Path, values: Any) -> None:
    """Whole or not at all; a folder that cannot be written only means that it is found out again."""
    fresh = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(values), encoding="utf-8")
        fresh.replace(file)
    except OSError:
        _remove(fresh)


def drop_record(file: Path, min_age_seconds: float, now: float) -> None:
    """Remove it, unless it is younger than that at `now`, in seconds since the epoch."""
    try:
        age = now - file.stat().st_mtime
    except OSError:
        return
    if not 0 <= age < min_age_seconds:
        _remove(file)


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError:  # a folder that cannot be written
        return


def _processor_flags() -> str:
    """What the kernels choose by; empty where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")
