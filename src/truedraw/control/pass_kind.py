"""What passes of one row count take beside those of others, as a log, and how far that is known."""

from __future__ import annotations

from collections.abc import Callable
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


Shape = tuple[int, int]
"""Rows, of those that are told apart, and texts."""


class PassKinds:
    """All that were met."""

    def __init__(self) -> None:
        self._known: dict[Shape, PassKind] = {}
        self.usual = 0.0
        """The mean of what passes took beside the speed: what those take that nobody has measured."""

    def of(self, shape: Shape) -> PassKind:
        """One, which may be new."""
        return self._known.get(shape) or PassKind(self.usual)

    def value(self, shape: Shape, now: int) -> float:
        """Of one, at a later pass."""
        here = self._known.get(shape)
        return self.usual if here is None else here.value(now, self.usual)

    def add(self, shape: Shape, miss: float, now: int, settled: int, passes: int = 1) -> None:
        """See PassKind.add; of `settled` passes something was learnt, these included."""
        kind = self._known[shape] = self.of(shape)
        value = kind.add(miss, now, self.usual, passes)
        self.usual += (value - self.usual) * several(1 / min(settled + 1, LONG), passes)

    def keep(self, stays: Callable[[int], bool]) -> None:
        """Only those whose rows stay."""
        self._known = {shape: kind for shape, kind in self._known.items() if stays(shape[0])}

    def spread(self, rows: int, least: int, now: int) -> float:
        """Between any two of up to so many rows and at least so many passes; 0 where there are none."""
        known = [kind.value(now, self.usual) for shape, kind in self._known.items()
                 if shape[0] <= rows and kind.count >= least]  # fmt: skip
        return max(known) - min(known) if known else 0.0


def several(share: float, times: int) -> float:
    """What becomes of a share of the way to a goal, if it is gone so many times."""
    return 1.0 - (1.0 - share) ** times
