"""A step of the correction on some places.

With p the target's law there, q the draft's, both at the text's temperature and on the tokens that the head knows, the
loss is -log sum(min(p, q)), the acceptance that is paid for (LK losses, 2602.23881). Its derivative by the logits is
-q (u - sum(q u)) / alpha, u being 1 where q < p. On top of a trained head it raised acceptance at the first two
positions by two to three times as much as forward KL did, in 4,400 rounds. Steps are Adam's (Kingma, Ba, 1412.6980).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truedraw.draft.head.refit.correction import Correction, Reals, gathered, normed, spread
from truedraw.draft.head.refit.ring import Places
from truedraw.protocol import Logits

RATES = (1e-3, 1e-3, 3e-3)
"""Of R, S and b. Three times as fast kept less, with a step after every fourth round."""
FIRST, SECOND = 0.9, 0.999  # shares of a mean of gradients, and of their squares, that stay
LEAST = 1e-8  # of a root that is divided by
LEAST_ACCEPTED = 0.03  # of an acceptance that is divided by: a hopeless place shall not outweigh all others
Parts = tuple[Reals, Reals, Reals]
"""Numbers for R, S and b."""


class Outcome(NamedTuple):
    """A step, and sum(min(p, q)) [n] of its places with the correction as it was before."""

    correction: Correction
    accepted: Reals


class Adam:
    """The means behind the steps of one correction."""

    def __init__(self, of: Correction) -> None:
        self._steps = 0
        self._means = [np.zeros_like(part) for part in of]
        self._squares = [np.zeros_like(part) for part in of]

    def after(self, correction: Correction, slopes: Parts) -> Correction:
        """One step down: a new correction."""
        self._steps += 1
        first, second = 1 - FIRST**self._steps, 1 - SECOND**self._steps
        parts = []
        for number, (part, slope) in enumerate(zip(correction, slopes, strict=True)):
            mean, square = self._means[number], self._squares[number]
            mean += (1 - FIRST) * (slope - mean)
            square += (1 - SECOND) * (slope * slope - square)
            parts.append(part - RATES[number] / first * mean / (np.sqrt(square / second) + LEAST))
        return Correction(*parts)


def step(correction: Correction, places: Places, adam: Adam) -> Outcome:
    """One step on these places."""
    z = normed(places.z)
    inner = gathered(z, correction.read)
    q = softmax((places.drafted + spread(inner, correction.say) + correction.bias) / places.temperature)
    p = softmax(places.said / places.temperature)
    slope, accepted = pull(p, q)
    slope *= places.weight / places.weight.sum() / places.temperature
    slopes = (
        np.einsum("nw,nr->wr", z, np.einsum("nk,rk->nr", slope, correction.say)),
        np.einsum("nr,nk->rk", inner, slope),
        slope.sum(0),
    )
    return Outcome(adam.after(correction, slopes), accepted)


def overlaps(correction: Correction, places: Places) -> Reals:
    """sum(min(p, q)) [n]."""
    q = softmax(correction.of(places.z, places.drafted) / places.temperature)
    return np.asarray(np.minimum(softmax(places.said / places.temperature), q).sum(1))


def pull(p: Reals, q: Reals) -> tuple[Reals, Reals]:
    """The derivative of -log alpha by the logits [n, known] that q is the softmax of, and alpha [n]."""
    accepted = np.minimum(p, q).sum(1)
    wanted = (q < p).astype(np.float32)
    wanted -= np.einsum("nk,nk->n", q, wanted)[:, None]
    wanted *= q
    wanted /= -np.maximum(accepted, LEAST_ACCEPTED)[:, None]
    return wanted, accepted


def softmax(logits: Logits) -> Reals:
    """By rows [n, known]."""
    p: Reals = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return p
