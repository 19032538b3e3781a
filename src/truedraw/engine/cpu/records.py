"""What was found out about a model on a machine, in small files of the cache folder."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from truedraw.engine.openvino.core import core
from truedraw.silent_openvino import openvino
from truedraw.threads.processors import processors

if TYPE_CHECKING:
    from truedraw.engine.options import Options
    from truedraw.models import Checkpoint


def record_key(checkpoint: Checkpoint, options: Options) -> str:
    """Stands for this machine, model and way of computing."""
    runtime = _compiler() if options.arithmetic.native else _runtime()
    cores = str(processors())  # what a runtime without a number of threads takes
    parts = [*runtime, _processor_flags(), cores, checkpoint.fingerprint, repr(options)]
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def _runtime() -> list[str]:
    ov = openvino()

    machine = core()
    kinds = machine.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return [machine.get_property("CPU", "FULL_DEVICE_NAME"), *kinds, ov.__version__]


def _compiler() -> list[str]:
    """What decides what the machine code of this package's kernels is."""
    import llvmlite
    import numba

    from truedraw.compiled import sources
    from truedraw.compiled_for import FEATURES
    from truedraw.engine.native import machine

    kernels = sources(Path(machine.__file__).parent)
    return [numba.__version__, llvmlite.__version__, *sorted(FEATURES), kernels]


def _processor_flags() -> str:
    """What the kernels choose by; empty where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")
