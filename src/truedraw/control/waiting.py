"""A model's first text begins plainly where it is alone and nothing is known: drafts that are dear come once it is
known what passes take.

Nothing but the table says it before, and behind a prompt all passes take longer at first (settling.py). Texts of a few
tokens are over by then. Later texts begin with drafts, by what the ones before have taught, and so does the first one
of a process where others before it have: in the rounds behind their prompts drafts are worth less than further on, and
still more than nothing.
"""

from __future__ import annotations

from collections.abc import Set

from truedraw.control.costs import BEGIN
from truedraw.control.experience import Experience
from truedraw.control.pause import LONGEST
from truedraw.control.settling import SETTLES

MOST = 1 + SETTLES + BEGIN  # rounds of a text, from its first on, whatever else the engine computes meanwhile


class Waiting:
    """One controller's."""

    def __init__(self, known: Experience) -> None:
        self._known = known
        self._texts: Set[int] = frozenset()
        self._since = 0  # the controller's round in which these came
        self.is_on = False
        """In the present round."""

    @property
    def left(self) -> int:
        """Rounds to the one in which somebody may be asked again; many, where nobody waits."""
        return max(1, self._known.costs.settles_in) if self.is_on else LONGEST

    def begin(self, present: Set[int], step: int) -> None:
        """A round of these texts in which somebody might be asked."""
        if present != self._texts:
            self._texts, self._since = frozenset(present), step
        is_first = self._known.costs.is_new and not self._known.recalls_dear
        self.is_on = len(present) == 1 and is_first and step - self._since < MOST
