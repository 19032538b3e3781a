"""truedraw bench memory: where the memory of one generation goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from truedraw.cli.flags import ReportFlags
from truedraw.cli.found import print_found
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.engine import DEFAULT_ENGINE
from truedraw.errors import BadParameter
from truedraw.models.toy import TOY_MODEL

if TYPE_CHECKING:
    from truedraw.bench.memory import MemoryUse

MEGABYTE = 1e6
UNUSED = (
    "draft", "amateur", "contrastive_alpha", "contrastive_beta", "cache_bytes", "prefix_cache_bytes", "fixed_after",
    "save_draft",
)  # fmt: skip
EPILOG = """Examples:

truedraw bench memory

truedraw bench memory -m ./model.gguf -n 64 --json
"""


@dataclass(frozen=True, slots=True)
class MemoryFlags:
    """What this verb has."""

    n: Annotated[int, flag("--n", "-n", help="Samples at once.", min=1)] = 1
    max_tokens: Annotated[int, flag("--max-tokens", help="Tokens of each.", min=1)] = 200


@with_flags
def memory(own: MemoryFlags, model: ModelFlags, output: ReportFlags) -> None:
    """Measure where the memory of one generation goes, in a process of its own.

    The parts go to stderr (not with --json), one JSON object to stdout. Linux only.
    """
    from truedraw.bench.memory import Job, memory_use
    from truedraw.bench.provenance import machine
    from truedraw.cli.options import numerics_of

    for name in UNUSED:
        if getattr(model, name) is not None:
            raise BadParameter(f"--{name.replace('_', '-')}", "this measures one model as it comes; leave it out")
    if model.model == TOY_MODEL:
        raise BadParameter("--model", f"{TOY_MODEL} is a table and has no weights; name a model with a file")
    if model.engine != DEFAULT_ENGINE or model.device is not None:
        raise BadParameter(
            "--engine" if model.device is None else "--device", f"this looks at {DEFAULT_ENGINE}; leave it out"
        )
    job = Job(own.max_tokens, own.n, numerics=numerics_of(model), weights=model.weights, threads=model.threads)
    found = memory_use(model.model, job, model.cache)
    print_found({"model": model.model, **found.to_json(), **machine()}, lines(found), output)


def lines(found: MemoryUse) -> list[str]:
    """The parts in megabytes, for people."""
    parts = {
        "model file": found.file_bytes,
        "weights as held": found.weights_bytes,
        "pages of the texts": found.pages_bytes,
        "interpreter, compilers, graph, buffers": found.runtime_bytes,
        "files the system can take back": found.reclaimable_bytes,
        "peak": found.peak_bytes,
    }
    table = [f"{name:<40}{size / MEGABYTE:8.0f} MB" for name, size in parts.items()]
    return [*table, f"peak without pages: {found.ratio:.2f} times the model file"]
