"""What speculation gains on one prompt, for a look rather than a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truedraw.bench.pairs import Arms, Pair, same_tokens
from truedraw.bench.report import section
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.sampling.params import SamplingParams

ORDERS = (True, False)  # plain first, then second: a machine that slows down favours nobody


def measure(
    model: Model, prompt: str | Sequence[int], params: SamplingParams, speculation: Speculation
) -> dict[str, Any]:
    """speedup (seconds a token, plain over speculative), rates, identical_texts, runs of each, seed.

    `params` has a seed.
    """
    arms = Arms(model, params, speculation)
    arms.warm_up(prompt)
    results = [arms.pair(prompt, plain_first) for plain_first in ORDERS]
    found = section([Pair(0, "", plain.stats, spec.stats, same_tokens(plain, spec)) for plain, spec in results])
    return {
        "speedup": found["speedup"]["median"],
        "plain_tokens_per_second": found["plain_tokens_per_second"],
        "tokens_per_second": found["tokens_per_second"],
        "identical_texts": found["identical_texts"]["count"] == len(results),
        "runs": len(results),
        "seed": params.seed,
    }
