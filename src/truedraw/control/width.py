"""How many rows of drafts a pass has room for, held over many rounds since a change of shape costs.

Every round tells what the best m draft rows would have been worth, for every m: no draft has to be tried to know. The
width is the one with most tokens a second, by that as the mean of the last rounds, and by what passes of a width took.
"""

from __future__ import annotations

from truedraw.control.costs import LADDER, PassCosts
from truedraw.control.offers import Pile

MEMORY = 24  # rounds that the mean worth reaches back
STEADY = 1.015  # another width must be this much faster
SAME = 2  # rows up to which all passes have one shape
CHANGE = 0.4  # of a pass of one row: what the first pass of another width takes longer (there, and back again)


class Width:
    """Draft rows of a pass, for all texts together."""

    def __init__(self, costs: PassCosts, longest: int) -> None:
        self._costs, self._longest = costs, longest
        self._worth: dict[int, float] = {}  # by total rows on the ladder
        self._seen = 0
        self.rows = 0
        self.gain = 1.0
        """Of the best width, in speeds of plain sampling, when it was settled last."""

    def add(self, pile: Pile, samples: int, passed: int) -> None:
        """One round's offers, `passed` rounds after those before."""
        self._seen += 1
        share = max(1 / self._seen, 1 - (1 - 1 / MEMORY) ** passed)
        for total in self._totals(samples):
            worth = pile.best(total - samples)
            mean = self._worth.get(total, worth)
            self._worth[total] = mean + (worth - mean) * share

    def settle(self, samples: int, offering: float) -> None:
        """Choose the width; `offering` is what it takes to ask the drafters, in seconds a round."""
        speeds = self.speeds(samples, offering)
        best = max(speeds, key=lambda rows: (speeds[rows], -rows))
        present = speeds.get(self.rows)
        if present is None or speeds[best] > STEADY * present:
            self.rows = best
        self.gain = max(speed for rows, speed in speeds.items() if rows or len(speeds) == 1) / speeds[0]

    def speeds(self, samples: int, offering: float) -> dict[int, float]:
        """Tokens a second by the number of draft rows; 0 = plain sampling."""
        found = {0: samples / self._costs.seconds(samples, samples)}
        for total in self._totals(samples):
            seconds = self._costs.seconds(total, samples) + offering
            found[total - samples] = (samples + self._worth.get(total, 0.0)) / seconds
        return found

    def now(self, pile: Pile, samples: int) -> int:
        """Draft rows of this round: more than the width where the offers are so good that it pays at once."""
        if len(pile) <= self.rows:
            return self.rows
        usual, held = self._costs.seconds(samples + self.rows, samples), pile.best(self.rows)
        rate, change = (samples + held) / usual, 2 * CHANGE * self._costs.seconds(1)
        best, most = self.rows, 0.0
        for total in self._totals(samples):
            rows = total - samples
            if rows <= self.rows:
                continue
            extra = self._costs.seconds(total, samples) - usual + (change if total > SAME else 0.0)
            gain = pile.best(rows) - held - rate * extra
            if gain > most:
                best, most = rows, gain
        return best

    def extra(self, samples: int, rows: int) -> float:
        """Seconds that a pass with so many draft rows takes longer than a plain one, now and then."""
        total = samples + rows
        change = 2 * CHANGE * self._costs.seconds(1) if total > SAME else 0.0
        return self._costs.seconds(total, samples) - self._costs.seconds(samples, samples) + change

    def _totals(self, samples: int) -> list[int]:
        """Rows of a pass that can be filled with drafts."""
        return [total for total in LADDER if samples < total <= samples * (1 + self._longest)]
