"""A text that is alone begins plainly: drafts that are dear come once what passes take can be compared.

Behind its prompt all passes take longer (settling.py), most of all those between which somebody drafts, and in a first
text of a model nothing but the table says what they take. Texts of a few tokens are over by then.
"""

from __future__ import annotations

from collections.abc import Set

from truedraw.control.costs import BEGIN, PassCosts
from truedraw.control.pause import LONGEST
from truedraw.control.settling import SETTLES

MOST = SETTLES + BEGIN  # rounds of a text, whatever else the engine computes meanwhile


class Waiting:
    """One controller's."""

    def __init__(self, costs: PassCosts) -> None:
        self._costs = costs
        self._texts: Set[int] = frozenset()
        self._rounds = 0  # of these, that they have waited
        self.is_on = False
        """In the present round."""

    @property
    def left(self) -> int:
        """Rounds to the one in which somebody may be asked again; many, where nobody waits."""
        return max(1, self._costs.settles_in) if self.is_on else LONGEST

    def begin(self, present: Set[int]) -> None:
        """A round of these texts."""
        if present != self._texts:
            self._texts, self._rounds = frozenset(present), 0
        self.is_on = len(present) == 1 and self._costs.settles_in > 0 and self._rounds < MOST
        self._rounds += self.is_on
