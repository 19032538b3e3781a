"""What a drafter's confidence is worth: how likely its tokens are kept, fitted online to what became of them.

P(node kept | parent kept) = sigmoid(w . x + lean), x = (1, log-odds of the drafter's own confidence, 1 if the node
follows the committed text), by logistic regression with a Gaussian posterior of w that is updated after each token
(Spiegelhalter & Lauritzen 1990) and widened a little, so that what is long ago counts less. `lean` belongs to one text
and is drawn towards 0: texts differ in how much they repeat themselves.

Everything here is known before a token's fate is, so choosing by it leaves the law as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log

from truedraw.control.shadow import Fate
from truedraw.protocol import ROOT, Proposal

EXTREME = 0.999  # confidences are taken no nearer to 0 and 1
BEFORE = (-1.0, 0.8, 0.0)  # w before anything was seen: drafters promise more than they keep
SPREAD = (1.0, 0.25, 0.25)  # variance of each of them
LEAN_SPREAD = 0.7  # variance of `lean`
FADING, LEAN_FADING = 1.002, 1.05  # of the variances, a token: a text changes its nature sooner than a drafter does
SURE = 1e-4  # least variance of a token's fate: an outcome that was sure to come would teach everything


class Lean:
    """How much better one text's drafts do than those of others."""

    __slots__ = ("mean", "spread")

    def __init__(self) -> None:
        self.mean, self.spread = 0.0, LEAN_SPREAD


class Opinion:
    """Of one drafter, over all texts it drafts for."""

    def __init__(self) -> None:
        self._weights = list(BEFORE)
        self._spread = [[SPREAD[i] if i == j else 0.0 for j in range(3)] for i in range(3)]

    def chances(self, proposal: Proposal, lean: Lean) -> list[float]:
        """[n] of each node, given that its parent is kept."""
        one, slope, first = self._weights
        return [
            sigmoid(one + slope * odds + (first if parent == ROOT else 0.0) + lean.mean)
            for odds, parent in zip(log_odds(proposal), proposal.parents.tolist(), strict=True)
        ]

    def learn(self, fates: Iterable[Fate], lean: Lean) -> None:
        """What became of tokens of a text whose parents were kept."""
        for odds, is_first, kept in fates:
            self._learn((1.0, odds, float(is_first)), kept, lean)

    def _learn(self, x: tuple[float, float, float], kept: bool, lean: Lean) -> None:
        chance = sigmoid(sum(w * value for w, value in zip(self._weights, x, strict=True)) + lean.mean)
        fading = FADING if sum(self._spread[i][i] for i in range(3)) < sum(SPREAD) else 1.0
        steps = [fading * sum(s * value for s, value in zip(row, x, strict=True)) for row in self._spread]
        width = lean.spread + sum(step * value for step, value in zip(steps, x, strict=True))
        gain = 1 / (1 / max(chance * (1 - chance), SURE) + width)
        miss = (kept - chance) * (1 - gain * width)
        self._weights = [w + step * miss for w, step in zip(self._weights, steps, strict=True)]
        mirrored = zip(*self._spread, strict=True)  # fading would let a trace of asymmetry grow without end
        self._spread = [
            [fading * (s + t) / 2 - gain * step * other for s, t, other in zip(row, column, steps, strict=True)]
            for row, column, step in zip(self._spread, mirrored, steps, strict=True)
        ]
        lean.mean += lean.spread * miss
        lean.spread = min(LEAN_FADING * lean.spread * (1 - gain * lean.spread), LEAN_SPREAD)


def log_odds(proposal: Proposal) -> list[float]:
    """[n] of the drafter's own confidence; 0 where it has no opinion."""
    if proposal.confidence is None:
        return [0.0] * len(proposal)
    bounded = [min(max(c, 1 - EXTREME), EXTREME) for c in proposal.confidence.tolist()]
    return [log(c / (1 - c)) for c in bounded]


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), for x of any size."""
    return 1 / (1 + exp(-x)) if x > -30 else exp(x)
