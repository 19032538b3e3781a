"""How often draft tokens are kept, by their position: for drafts that nobody can weigh before they are made."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import Floats

MEMORY = 20  # rounds that counts reach back
FIRST_KEPT = 0.5  # a_1 before it was tried
PRIOR_TRIES = 4.0  # tries that weigh as much as what was thought before


class Acceptance:
    """a_1, a_2, ...: how often draft token i is kept when those before it were; what is long ago counts less."""

    def __init__(self, longest: int = 16) -> None:
        self._kept, self._tried = [0.0] * longest, [0.0] * longest
        self._found, self._asked = 0.0, 0.0

    def add(self, drafted: int, accepted: int) -> None:
        """One round in which drafts were asked for: the tokens up to the first that was not kept were tried."""
        keep, tried = 1 - 1 / MEMORY, min(drafted, accepted + 1)
        kept = min(accepted, tried)
        self._kept = [keep * each + (place < kept) for place, each in enumerate(self._kept)]
        self._tried = [keep * each + (place < tried) for place, each in enumerate(self._tried)]
        self._found, self._asked = keep * self._found + (drafted > 0), keep * self._asked + 1

    def chances(self) -> Floats:
        """a_1, a_2, ... [longest]; a token that was seldom tried is thought to do as well as the one before it."""
        chances: list[float] = []
        for kept, tried in zip(self._kept, self._tried, strict=True):
            usual = chances[-1] if chances else FIRST_KEPT
            chances.append((kept + PRIOR_TRIES * usual) / (tried + PRIOR_TRIES))
        return np.array(chances)

    @property
    def found(self) -> float:
        """The share of rounds in which the drafter had something to offer."""
        return (self._found + PRIOR_TRIES) / (self._asked + PRIOR_TRIES)

    def gains(self) -> Floats:
        """[longest] tokens that the first, second, ... draft token is worth."""
        return np.asarray(self.found * np.cumprod(self.chances()))
