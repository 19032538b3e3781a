"""A text that is alone begins plainly: drafts that are dear come once what passes take can be compared.

Behind its prompt all passes take longer (settling.py), most of all those between which somebody drafts, and in a first
text of a model nothing but the table says what they take. Texts of a few tokens are over by then.
"""

from __future__ import annotations

from collections.abc import Set

from truedraw.control.costs import BEGIN, PassCosts
from truedraw.control.pause import LONGEST
from truedraw.control.settling import SETTLES

MOST = 1 + SETTLES + BEGIN  # rounds of a text, from its first on, whatever else the engine computes meanwhile


class Waiting:
    """One controller's."""

    def __init__(self, costs: PassCosts) -> None:
        self._costs = costs
        self._texts: Set[int] = frozenset()
        self._since = 0  # the controller's round in which these came
        self.is_on = False
        """In the present round."""

    @property
    def left(self) -> int:
        """Rounds to the one in which somebody may be asked again; many, where nobody waits."""
        return max(1, self._costs.settles_in) if self.is_on else LONGEST

    def begin(self, present: Set[int], step: int) -> None:
        """A round of these texts in which somebody might be asked."""
        if present != self._texts:
            self._texts, self._since = frozenset(present), step
        self.is_on = len(present) == 1 and self._costs.is_new and step - self._since < MOST
