"""The process that memory.py measures: python -m truedraw.bench.memory_run JOB ANSWER, both JSON, the second a file."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truedraw.bench.residence import residence


def main(arguments: list[str]) -> None:
    """Measure the job given as text and write what was found to the file."""
    job, answer = arguments
    Path(answer).write_text(json.dumps(measure(json.loads(job))))


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Load, draw one token, draw all; looks at the process between the steps and sums up."""
    from truedraw import load

    seen = [residence("started")]
    cache = None if job["cache"] is None else Path(job["cache"])
    options = {name: job[name] for name in ("numerics", "weights", "threads")}
    with load(job["model"], cache=cache, **options) as model:
        seen.append(residence("loaded"))
        model.generate(job["prompt"], model.params(seed=0, max_tokens=1))
        seen.append(residence("first token"))
        whole = model.params(seed=0, max_tokens=job["max_tokens"], n=job["n"], ignore_eos=True)
        result = model.generate(job["prompt"], whole)
        seen.append(residence("finished"))
        held = getattr(model.engine, "weights_bytes", 0)
    return {"residences": [asdict(each) for each in seen], "weights_bytes": held, "tokens": result.stats.tokens}


if __name__ == "__main__":
    main(sys.argv[1:])
