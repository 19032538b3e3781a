"""Which of a few settings of a drafter would have kept most of what it drafts, learnt while texts are written.

At a place where the target has said its law p and the draft's q is known under each setting, sum_x min(p(x), q(x)) is
what would be kept there (1 - TV; Leviathan et al., 2211.17192, section 3.2), whatever was drafted. The settings are
compared with one of them at a place now and then, and drafts go on with the one that surely gains most: by its mean
gain less two standard errors, so that a drafter that is well set as it is stays so. What is long ago counts less.
"""

from __future__ import annotations

import numpy as np

from truedraw.protocol import Floats

FEW = 8  # places, before which nothing is believed
MEMORY = 256  # places that means reach back
DOUBT = 2.0
"""Standard errors that a gain has to exceed 0 by. With one an n-gram drafter that was right as it was followed chance
to another temperature, and lost."""
SOONEST, SELDOM, RARER = 4, 128, 4
"""Rounds from one place to the next: within the first two, `RARER` times as many as there were places so far. A place
takes up to 2 ms beside passes of 4: seven of them in the first hundred rounds, 22 in the first thousand."""


class Gains:
    """Over `size` settings, of which number `first` holds until another one is better. One thread at a time."""

    def __init__(self, size: int, first: int = 0) -> None:
        self.best = self._first = first
        self._rounds = self._places = 0
        self._count, self._sum, self._squares = 0.0, np.zeros(size), np.zeros(size)

    @property
    def left(self) -> int:
        """Rounds up to the next one whose place is to be looked at."""
        return min(max(RARER * self._places, SOONEST), SELDOM) - self._rounds

    def due(self) -> bool:
        """Whether the place of this round is to be looked at; to be asked once a round and text."""
        self._rounds += 1
        if self.left > 0:
            return False
        self._rounds = 0
        return True

    def saw(self, overlaps: Floats) -> None:
        """sum(min(p, q)) at one place, by settings [size]."""
        gains, keep = overlaps - overlaps[self._first], 1 - 1 / MEMORY
        self._places += 1
        self._count = keep * self._count + 1
        self._sum = keep * self._sum + gains
        self._squares = keep * self._squares + gains**2
        if self._places >= FEW:
            sure = self._sure()
            self.best = int(sure.argmax()) if sure.max() > 0.0 else self._first

    def _sure(self) -> Floats:
        """Mean gains less what is in doubt; 0 for the first setting."""
        mean = self._sum / self._count
        variance = np.maximum(self._squares / self._count - mean**2, 0.0)
        return np.asarray(mean - DOUBT * np.sqrt(variance / self._count))
