"""What a pass costs by its number of rows: an estimate at first, then what was measured."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache

import numpy as np

ROWS = (1, 2, 4, 6, 8, 12, 16, 32, 64, 128)
PASS = (1.0, 1.01, 1.04, 1.07, 1.14, 1.41, 1.59, 2.33, 3.85, 7.0)
"""Time of a pass over so many rows in single-row passes, int8 weights on two cores: where the estimate starts."""
LADDER = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Row counts that are told apart; the engine pads to about these."""
PRIOR_PASSES = 8  # measured passes that weigh as much as what their neighbours on the ladder suggest
NOISE = 1.1  # a slope steeper than the table's counts beyond this
MEMORY = 32  # passes that running averages reach back


class Average:
    """A running mean that turns into an exponential one with a memory of `MEMORY` values."""

    def __init__(self, value: float = 0.0, count: int = 0) -> None:
        self.count, self.value = count, value

    def add(self, value: float) -> None:
        """Take one more value."""
        self.count += 1
        self.value += (value - self.value) / min(self.count, MEMORY)


class PassCosts:
    """Seconds of a pass over so many rows. Every count on the ladder has its own average, in units of the table."""

    def __init__(self) -> None:
        self._measured: dict[int, Average] = {}

    def add(self, rows: int, seconds: float) -> None:
        """One pass."""
        self._measured.setdefault(step(rows), Average()).add(seconds / table(rows))

    def seconds(self, rows: int) -> float:
        """Of a pass over `rows`; in passes of one row while nothing was measured."""
        here = self._measured.get(step(rows))
        weight = 0 if here is None else min(here.count, MEMORY)
        own = 0.0 if here is None else here.value
        others = self._suggested(rows) if weight < MEMORY else 0.0
        share = PRIOR_PASSES * (1 - weight / MEMORY)
        return table(rows) * (share * others + weight * own) / (share + weight)

    def _suggested(self, rows: int) -> float:
        """What the other counts say: between its neighbours, or along the slope of the two that are nearest."""
        known = sorted(count for count in self._measured if count != step(rows))
        if not known:
            return self._measured[step(rows)].value if self._measured else 1.0
        values = [self._measured[count].value for count in known]
        if known[0] < rows < known[-1]:
            return float(np.interp(math.log(rows), np.log(known), values))
        end = 0 if rows < known[0] else len(known) - 1
        pair = known[:2] if end == 0 else known[-2:]
        slope = self._slope(*pair) if len(pair) == 2 else 1.0
        return float(values[end] * slope ** math.log2(rows / known[end]))

    def _slope(self, low: int, high: int) -> float:
        """By how much the cost outgrows the table's when the rows double; 1 at least."""
        growth = self._measured[high].value / self._measured[low].value / NOISE
        return max(1.0, float(growth ** (1 / math.log2(high / low))))


def step(rows: int) -> int:
    """The count on the ladder that stands for so many rows."""
    place = bisect_left(LADDER, rows)
    return LADDER[place] if place < len(LADDER) else -(-rows // LADDER[-1]) * LADDER[-1]


@cache
def table(rows: int) -> float:
    """Passes of one row that a pass over `rows` is worth; beyond the table a row costs what its last ones cost."""
    if rows <= ROWS[-1]:
        return float(np.interp(rows, ROWS, PASS))
    return PASS[-1] + (rows - ROWS[-1]) * (PASS[-1] - PASS[-2]) / (ROWS[-1] - ROWS[-2])
