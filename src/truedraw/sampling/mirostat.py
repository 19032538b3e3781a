"""Mirostat 2 (Basu et al., 2007.14966, algorithm 2): truncation that steers the text's surprise towards a target.

Tokens of more than mu bits of surprise are cut. mu starts at 2 tau, and after a token of surprise s under the
truncated, renormalised law it becomes mu - eta (s - tau). As in llama.cpp it takes the place of every other
truncation; mu belongs to the text, so every draft node has its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from truedraw.protocol import Floats
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row
from truedraw.sampling.step import Opening, Step
from truedraw.sampling.truncate import surprise_below


@dataclass(frozen=True, slots=True)
class Mirostat:
    """The truncation of one place; mu and tau in bits."""

    tau: float
    eta: float
    mu: float

    def __call__(self, row: Row) -> None:
        """Cut what is too surprising."""
        row.keep(surprise_below(row.p, self.mu))

    def after(self, token: int, p: Floats | None) -> Mirostat:
        """mu one token later. A guess without p, a drafter's, takes the surprise to be on target."""
        if p is None:
            return self
        surprise = -math.log2(p[token]) if p[token] > 0 else math.inf  # a draft that cannot stand
        return replace(self, mu=self.mu - self.eta * (surprise - self.tau))


def mirostat(params: SamplingParams, _: Opening) -> Step | None:
    """The step, None where it is off."""
    if params.mirostat == 0:
        return None
    return Mirostat(params.mirostat_tau, params.mirostat_eta, 2.0 * params.mirostat_tau)
