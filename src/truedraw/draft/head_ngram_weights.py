"""What counts weigh against a head, by how much of a text's end the running texts had before.

Where a text repeats the last few tokens of what was written or asked, counts know best what follows; elsewhere a head
does. So there is one weight for each length of the longest context that matched, learnt from rounds that have ended:
the one that would have kept most (gains.py). A round draws with the weights that held when it began, so each q is
settled before its tokens are drawn (algorithm L2); texts that learn from one another remain independent, see
ngram_lm.py.
"""

from __future__ import annotations

from truedraw.draft.gains import Gains
from truedraw.protocol import Floats

GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.72, 0.85, 0.95)
FIRST = (0.0, 0.0, 0.1, 0.3, 0.6)
"""By matched tokens, 0 to 4: about the best for the head that ships with SmolLM2-135M, over 15,800 places in texts of
the model at T = 1, 0.7 and 0. Below two tokens counts would keep .002 more at T = 0 and nothing above it; without them
a round is spared their time."""


class Weights:
    """Of one pair of a head and counts; texts and runs share it. One thread at a time."""

    def __init__(self) -> None:
        self._gains = tuple(Gains(len(GRID), GRID.index(first)) for first in FIRST)
        self._now: tuple[float, ...] = FIRST

    def now(self) -> tuple[float, ...]:
        """By matched tokens; what is learnt later does not change it."""
        return self._now

    def due(self, matched: int) -> bool:
        """Whether the place of this round, where so many tokens match, is to be looked at; once a round and text."""
        return self._gains[matched].due()

    def saw(self, matched: int, overlaps: Floats) -> None:
        """sum(min(p, q)) at such a place, by GRID."""
        self._gains[matched].saw(overlaps)
        self._now = tuple(GRID[gains.best] for gains in self._gains)


class Fixed(Weights):
    """Weights that nothing changes: for a drafter that is asked outside a run."""

    def due(self, matched: int) -> bool:
        """Nothing is learnt."""
        return False
