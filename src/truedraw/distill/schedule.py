"""How fast is learnt, and by which loss, as a training goes on."""

from __future__ import annotations

import math

WARM_UP = 100  # steps in which the rate rises
LOWEST_RATE = 0.03  # of the highest, at the end
KL_UNTIL, BLENDED_OVER, MOST_BLENDED = 0.55, 0.2, 0.85
"""Of the training: forward KL alone so far, then the loss comes in over so much, up to this share."""


def warmth(step: int) -> float:
    """The rate's share at the start."""
    return min(1.0, (step + 1) / WARM_UP)


def fallen(done: float) -> float:
    """The rate's share by what is done of the training: half a cosine."""
    return LOWEST_RATE + (1 - LOWEST_RATE) * (1 + math.cos(math.pi * min(done, 1.0))) / 2


def share_of(loss: str, done: float, further: bool) -> float:
    """Of the loss beside forward KL: others hardly pull while a draft is far from its target.

    `further`: it has learnt before.
    """
    begun = 1.0 if further else min(max((done - KL_UNTIL) / BLENDED_OVER, 0.0), 1.0)
    return 0.0 if loss == "kl" else MOST_BLENDED * begun
