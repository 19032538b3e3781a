"""What a drafter's offers bring beside those of others, and whether that is worth what it takes to have them made.

Where one of several drafters pays, all that are cheap would be asked in every round, those that bring nothing, too.
"""

from __future__ import annotations

from truedraw.control.average import Average, TwoKinds

ENOUGH = 16  # offers before which nobody is given up
REST = 8  # rounds from one asking to the next of whoever brings too little


class Bringing:
    """Of one drafter, for a text."""

    def __init__(self) -> None:
        self._tokens, self._seconds = Average(), TwoKinds()
        self._asked_at = 0

    def saw(self, worth: float, others: float) -> None:
        """What it offered a text is worth so many tokens, and the best of the others so many."""
        self._tokens.add(max(0.0, worth - others))

    def took(self, seconds: float, at: int, *, found: bool) -> None:
        """To ask it for a text, in that round; whether it had anything to offer."""
        self._seconds.add(seconds, is_longer=found)
        self._asked_at = at

    def rests(self, at: int, rate: float) -> bool:
        """Whether it is not to be asked in that round, where time is worth so many tokens a second."""
        if self._tokens.count < ENOUGH or self._tokens.value >= rate * self._seconds.value:
            return False
        return at - self._asked_at < REST
