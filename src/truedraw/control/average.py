"""Means of what is measured again and again, and what is long ago counts less."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

MEMORY = 32  # values that running averages reach back
FIRST = 3  # values whose least counts: the first ones load and warm up
LARGEST = 4.0  # times the usual, that a value counts for at most, where `MEMORY` of them tell what is usual


class Average:
    """A running mean that turns into an exponential one with a memory of `MEMORY` values."""

    def __init__(self, value: float = 0.0, count: int = 0) -> None:
        self.count, self.value = count, value

    def add(self, value: float, times: int = 1) -> None:
        """Take one more value, so many times."""
        for _ in range(times):
            self.count += 1
            self.value += (value - self.value) / min(self.count, MEMORY)

    def fade(self, share: float) -> None:
        """All so far counts for so much of what it did, but for no less than the first few values."""
        self.count = max(min(self.count, FIRST), round(share * min(self.count, MEMORY)))


def warmed(mean: Average, seconds: float, times: int = 1) -> Average:
    """The mean with one more time, that of so many: of the first few the shortest counts, and later none counts for
    very much."""
    if 0 < mean.count < FIRST:
        return Average(min(seconds, mean.value), mean.count + times)
    mean.add(min(seconds, most(mean.value, mean.count + 1.0)) if mean.value > 0.0 else seconds, times)
    return mean


class TwoKinds:
    """A mean of times, one kind of which may be much longer: a rare call that drafts is no accident to be left out.

    Until a few of that kind were seen, they may be: then they count as the others.
    """

    def __init__(self) -> None:
        self._usual, self._longer, self._often = Average(), Average(), Average()

    def add(self, seconds: float, *, is_longer: bool) -> None:
        """One more, of the kind that may be longer or of the other."""
        self._often.add(float(is_longer))
        if is_longer:
            self._longer = warmed(self._longer, seconds)
        if not is_longer or self._longer.count <= FIRST:
            self._usual = warmed(self._usual, seconds)

    @property
    def value(self) -> float:
        """Each kind counts as often as it comes."""
        often = self._often.value if self._longer.count >= FIRST else 0.0
        return often * self._longer.value + (1.0 - often) * self._usual.value


def entries(values: Sequence[float], *, is_known: bool) -> list[tuple[float, int]]:
    """How values that belong together are entered, and how often: until something is known each by itself, since the
    first ones load and warm up; then the median for all of them, which one that was held up does not move."""
    if len(values) == 1 or not is_known:
        return [(value, 1) for value in values]
    return [(median(values), len(values))]


def most(usual: float, values: float) -> float:
    """What a value counts for at most, where it is one of so many: none moves what is thought by more than a tenth."""
    return usual * (1.0 + (LARGEST - 1.0) * min(values, MEMORY) / MEMORY)
