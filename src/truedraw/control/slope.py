"""What calls take by how much they do: seconds = first + further * more, by least squares over the last calls.

Where these did about the same, the two cannot be told apart; then `further` is thought to be a known share of `first`.
"""

from __future__ import annotations

from truedraw.control.average import FIRST, LARGEST, MEMORY

SHARE = 1 / 3  # of what a call takes, one more step of it: before it was tried, and as long as it tells little
PRIOR = 1.0  # calls, one step apart, that weigh as much as that share


class Slope:
    """Never below 0, both; of the first few calls the shortest counts, and later none counts for very much."""

    def __init__(self) -> None:
        self.first = self.further = 0.0
        self._sums = [0.0] * 5  # of 1, more, more**2, seconds, more * seconds
        self._count = 0

    def at(self, more: float) -> float:
        """Seconds of a call with so many steps more than the first."""
        return self.first + self.further * more

    def add(self, more: float, seconds: float) -> None:
        """One call."""
        self._count += 1
        expected = self.at(more)
        if 1 < self._count <= FIRST and seconds >= expected:
            return
        is_fresh = self._count <= FIRST
        took = min(seconds, LARGEST * expected) if expected > 0.0 and not is_fresh else seconds
        keep = 0.0 if is_fresh else 1 - 1 / MEMORY
        new = 1.0, more, more * more, took, more * took
        n, x, xx, y, xy = self._sums = [keep * old + each for old, each in zip(self._sums, new, strict=True)]
        self._settle(n + PRIOR * SHARE * SHARE, x - PRIOR * SHARE, xx + PRIOR, y, xy)

    def _settle(self, a: float, b: float, c: float, y: float, xy: float) -> None:
        """The least of sum (seconds - first - further more)**2 + PRIOR (further - SHARE first)**2."""
        below = a * c - b * b
        first, further = (c * y - b * xy) / below, (a * xy - b * y) / below
        if first < 0.0 or further < 0.0:
            first, further = (0.0, xy / c) if first < 0.0 else (y / self._sums[0], 0.0)
        self.first, self.further = first, further
