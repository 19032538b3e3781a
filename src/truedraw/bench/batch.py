"""What many samples of one prompt in one pass gain over one, plain sampling, end to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from truedraw.bench.lengths import short, whole
from truedraw.bench.pairs import PLAIN
from truedraw.generate.model import Model
from truedraw.sampling.params import SamplingParams


@dataclass(frozen=True, slots=True)
class BatchSpeed:
    """Plain sampling of n samples at once; relative to n = 1."""

    n: int
    tokens_per_second: float
    relative: float


def batch_speeds(
    model: Model, tokens: Sequence[int], params: SamplingParams, sizes: Sequence[int], repeats: int = 1
) -> Iterator[BatchSpeed]:
    """One at a time in rising order, n = 1 first even if it was not asked for.

    End tokens and stop strings do not count here: every sample has max_tokens tokens, so that no batch thins out.
    """
    alone = None
    for n in sorted({1, *sizes}):
        speed = _speed(model, tokens, replace(whole(params), n=n, best_of=None), repeats)
        alone = speed if alone is None else alone
        yield BatchSpeed(n, speed, speed / alone)


def _speed(model: Model, tokens: Sequence[int], params: SamplingParams, repeats: int) -> float:
    """The median tokens a second over repeats, after an unmeasured short run."""
    model.generate(tokens, short(params), speculative=PLAIN)
    runs = [model.generate(tokens, params, speculative=PLAIN).stats for _ in range(repeats)]
    return median(run.tokens / run.seconds for run in runs)
