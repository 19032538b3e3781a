"""What passes of one row count take beside those of others, and how far that is known."""

from __future__ import annotations

from math import exp

LONG = 64  # passes that it reaches back
PRIOR_PASSES = 4  # passes of a row count that weigh as much as the table
TRUSTED = 24  # after so many passes of a row count, half of what one takes longer is the machine's doing, not its own
FADING = 1 / 4000  # of what was learnt of a row count, a pass: what is long ago counts less
AGEING = 1 / 64  # of the weight of that, a pass of other rows: a few new ones soon count for more


class PassKind:
    """How many times longer than in the table passes of one kind take, beside those of others; as a log."""

    __slots__ = ("_value", "_weight", "at", "count")

    def __init__(self, usual: float) -> None:
        self.count = self.at = 0  # passes; and the number of the last, among those of all kinds
        self._value, self._weight = usual, 0.0

    def value(self, now: int, usual: float) -> float:
        """At a later pass, where passes of all kinds take `usual`."""
        return usual + (self._value - usual) * exp(-FADING * (now - self.at))

    @property
    def trust(self) -> float:
        """The share of the machine in what the next pass takes longer: none where nothing but the table is known."""
        return self.count / (self.count + TRUSTED)

    def add(self, miss: float, now: int, usual: float, passes: int = 1) -> float:
        """So many passes, the last of them number `now`, took exp(miss) times what was expected; the value now."""
        self._weight = min(self._weight * exp(-AGEING * (now - self.at - passes)), LONG - PRIOR_PASSES)
        self._value = self.value(now, usual) + miss * passes / (PRIOR_PASSES + self._weight + passes - 1)
        self.count, self._weight, self.at = self.count + passes, self._weight + passes, now
        return self._value
