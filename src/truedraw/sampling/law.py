"""Logits to p, in the order that defines the law: temperature, top_k, top_p, min_p, typical_p.

Every truncation reads the law that the one before left, renormalised (the order of vLLM and Hugging Face). One
function for plain and speculative sampling, and one row at a time, so a row's p cannot depend on its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from truedraw.errors import EngineError
from truedraw.protocol import Floats, Logits
from truedraw.sampling import truncate
from truedraw.sampling.params import SamplingParams

Truncation = Callable[[Floats], truncate.Mask]


class SamplingLaw:
    """protocol.Law for one set of parameters."""

    def __init__(self, params: SamplingParams) -> None:
        self._temperature = params.temperature
        self._truncations = truncations(params)

    def __call__(self, logits: Logits) -> Floats:
        """p [vocab] float64 of one row of logits [vocab]; raises EngineError on NaN or where nothing is possible."""
        p = softmax(logits, self._temperature)
        for truncation in self._truncations:
            np.multiply(p, truncation(p), out=p)
            p /= p.sum()
        return p

    def after(self, token: int) -> SamplingLaw:
        """The same: none of these parameters looks at the text."""
        return self


def truncations(params: SamplingParams) -> list[Truncation]:
    """The truncations that are switched on, in their order."""
    steps: list[tuple[bool, Truncation]] = [
        (params.top_k > 0, partial(truncate.top_k, k=params.top_k)),
        (params.top_p < 1.0, partial(truncate.top_p, mass=params.top_p)),
        (params.min_p > 0.0, partial(truncate.min_p, ratio=params.min_p)),
        (params.typical_p < 1.0, partial(truncate.typical_p, mass=params.typical_p)),
    ]
    return [step for on, step in steps if on]


def softmax(logits: Logits, temperature: float) -> Floats:
    """softmax(logits / temperature) in float64; temperature 0 is its limit, one-hot at the first of the largest."""
    top = logits.max()
    if not np.isfinite(top):
        raise EngineError(f"the model's logits are unusable: their largest is {top}; the model file may be damaged")
    if temperature == 0:
        return one_hot(int(logits.argmax()), logits.size)
    p: Floats = np.subtract(logits, top, dtype=np.float64)
    with np.errstate(over="ignore"):  # a tiny temperature sends the quotient to -inf, which is what is meant
        p /= temperature
    np.exp(p, out=p)
    p /= p.sum()
    return p


def one_hot(token: int, vocab_size: int) -> Floats:
    """The law of certainty."""
    p = np.zeros(vocab_size)
    p[token] = 1.0
    return p


def log_probability(logits: Logits, token: int) -> float:
    """Natural log of softmax(logits)[token], before any transform, to float32 precision."""
    shifted = logits - logits.max()
    chosen = float(shifted[token])
    return chosen - math.log(float(np.exp(shifted, out=shifted).sum()))
