"""What calls take by how much they do: seconds = first + further * more, by least squares over the last calls.

Where these did about the same, the two cannot be told apart; then `further` is thought to be a given share of `first`.
"""

from __future__ import annotations

from truedraw.control.average import FIRST, MEMORY, most

SHARE = 0.6  # of what a call takes, one more step of it: before it was tried, and as long as it tells little
PRIOR = 1.0  # calls, one step apart, that weigh as much as that share


class Slope:
    """A first step takes at least what a further one does, and that not less than 0.

    Of the first few calls the shortest counts, and later none counts for very much.
    """

    def __init__(self, share: float = SHARE) -> None:
        self.first = self.further = 0.0
        self.count = 0  # calls
        self._share = share
        self._sums = [0.0] * 5  # of 1, more, more**2, seconds, more * seconds

    def at(self, more: float) -> float:
        """Seconds of a call with so many steps more than the first."""
        return self.first + self.further * more

    def add(self, more: float, seconds: float, times: int = 1) -> None:
        """One call, or so many that took as long."""
        self.count += times
        expected = self.at(more)
        if 1 < self.count <= FIRST and seconds >= expected:
            return
        is_fresh = self.count <= FIRST
        took = min(seconds, most(expected, self._alike(more))) if expected > 0.0 and not is_fresh else seconds
        keep = 0.0 if is_fresh else (1 - 1 / MEMORY) ** times
        new = 1.0 if is_fresh else MEMORY * (1.0 - keep)
        n, x, xx, y, xy = self._sums
        self._sums = [
            keep * n + new,
            keep * x + new * more,
            keep * xx + new * more * more,
            keep * y + new * took,
            keep * xy + new * more * took,
        ]
        self.first, self.further = self._settled(*self._sums)

    def _alike(self, more: float) -> float:
        """Calls like one with so many steps that stand beside it: few, where it tells what no other has."""
        keep = 1 - 1 / MEMORY
        n, x, xx, _, _ = self._sums
        a, b, c = self._weighed(keep * n + 1.0, keep * x + more, keep * xx + more * more)
        return (a * c - b * b) / (c - 2.0 * b * more + a * more * more)

    def _weighed(self, n: float, x: float, xx: float) -> tuple[float, float, float]:
        """Of the least squares: with what was thought before."""
        return n + PRIOR * self._share * self._share, x - PRIOR * self._share, xx + PRIOR

    def fade(self, share: float) -> None:
        """All so far counts for so much of what it did, but for no less than the first few calls."""
        if self.count > FIRST:
            share = max(share, min(1.0, FIRST / self._sums[0]))
            self._sums = [share * each for each in self._sums]

    def _settled(self, n: float, x: float, xx: float, y: float, xy: float) -> tuple[float, float]:
        """The least of sum (seconds - first - further more)**2 + PRIOR (further - share first)**2 within the bounds."""
        a, b, c = self._weighed(n, x, xx)
        below = a * c - b * b
        first, further = (c * y - b * xy) / below, (a * xy - b * y) / below
        if further < 0.0:
            return y / a, 0.0
        if first < further:
            return ((y + xy) / (a + 2.0 * b + c),) * 2
        return first, further
