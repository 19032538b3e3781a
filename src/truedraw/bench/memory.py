"""Where the memory of one generation goes, measured in a process of its own.

    peak = weights + pages + runtime + files

*Weights* are the bytes of the constants as the engine holds them, *pages* what the texts wrote to the cache. *Files*
are unchanged pages of libraries and of the stored constants: they count as resident, and the system takes them back
when memory is short. *Runtime* is all the rest: the interpreter, the compilers, the graph, the tokenizer, buffers. It
is about the same for every model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from truedraw.bench.residence import MEASURED_BY, Residence, can_measure
from truedraw.errors import BadParameter, EngineError
from truedraw.generate.first_start import own_paths
from truedraw.models import open_checkpoint
from truedraw.models.catalogue import DEFAULT_MODEL

PROMPT = "Once upon a time"
CHILD = "truedraw.bench.memory_run"


@dataclass(frozen=True, slots=True)
class Stage:
    """The process after one step; `peak_bytes` is the largest resident size until then."""

    name: str  # "started", "loaded", "first token" or "finished"
    resident_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """One generation's memory in bytes; the four parts were taken at its end and add up to `resident_bytes`."""

    file_bytes: int  # the model on disk
    weights_bytes: int  # as the engine holds them; 0 where it maps the model's own file
    pages_bytes: int
    runtime_bytes: int
    reclaimable_bytes: int  # "files" above
    peak_bytes: int
    tokens: int  # generated, all samples together
    stages: tuple[Stage, ...]

    @property
    def resident_bytes(self) -> int:
        """What the system counted as the process's memory at the end."""
        return self.weights_bytes + self.pages_bytes + self.runtime_bytes + self.reclaimable_bytes

    @property
    def ratio(self) -> float:
        """Peak without pages over the model file."""
        return (self.peak_bytes - self.pages_bytes) / self.file_bytes

    def to_json(self) -> dict[str, Any]:
        """All fields, and the sums made of them."""
        return {**asdict(self), "resident_bytes": self.resident_bytes, "ratio": self.ratio}


@dataclass(frozen=True, slots=True)
class Job:
    """What the measured process does: text of `max_tokens` tokens, `n` samples at once."""

    max_tokens: int = 200
    n: int = 1
    prompt: str = PROMPT
    numerics: str | None = None  # the default of load()
    weights: str = "auto"
    threads: int | None = None


def memory_use(model: str | Path = DEFAULT_MODEL, job: Job | None = None, cache: Path | None = None) -> MemoryUse:
    """Load the model and generate once in a fresh process; the model is fetched and converted beforehand.

    Raises what load() raises for the model; BadParameter for a job of no token; EngineError where the system does not
    tell a process's memory, or where the run fails.
    """
    given = job or Job()
    if not can_measure():
        raise EngineError(f"memory by parts is read from {MEASURED_BY}, which only Linux has; run this there")
    for name in ("max_tokens", "n"):
        if getattr(given, name) < 1:
            raise BadParameter(name, f"got {getattr(given, name)}; give 1 or more")
    file_bytes = open_checkpoint(model, cache=cache).size_bytes
    run = {"model": str(model), "cache": None if cache is None else str(cache), **asdict(given)}
    _in_fresh_process(run)  # a first load converts, compiles the kernels and tests the machine: no part of later ones
    found = _in_fresh_process(run)
    return _report(file_bytes, [Residence(**stage) for stage in found["residences"]], found)


def _report(file_bytes: int, residences: Sequence[Residence], found: dict[str, Any]) -> MemoryUse:
    end = residences[-1]
    weights = min(int(found["weights_bytes"]), end.anonymous_bytes - end.pages_bytes)
    return MemoryUse(
        file_bytes=file_bytes,
        weights_bytes=weights,
        pages_bytes=end.pages_bytes,
        runtime_bytes=end.anonymous_bytes - end.pages_bytes - weights,
        reclaimable_bytes=end.file_bytes,
        peak_bytes=end.peak_bytes,
        tokens=int(found["tokens"]),
        stages=tuple(Stage(each.name, each.resident_bytes, each.peak_bytes) for each in residences),
    )


def _in_fresh_process(run: dict[str, Any]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-P", "-m", CHILD, json.dumps(run), str(answer)]
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join(own_paths())}
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=paths)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
            raise EngineError(f"the measured run failed: {last}")
        return dict(json.loads(answer.read_text()))
