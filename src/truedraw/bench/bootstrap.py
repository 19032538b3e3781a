"""Medians and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL, SEED = 0.95, 0
RESAMPLES = 10_000  # the ends of the interval then move by less than a hundredth of its width


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and the interval that holds it; without ends where there is one value, which says nothing of spread."""

    median: float
    low: float | None
    high: float | None

    def to_dict(self) -> dict[str, float | None]:
        """For JSON."""
        return {"median": self.median, "low": self.low, "high": self.high}


def median_interval(values: Sequence[float]) -> Interval:
    """The median of at least one value with its percentile bootstrap interval (Efron 1979), the same each time."""
    data = np.asarray(values, dtype=np.float64)  # [values]
    if len(data) < 2:
        return Interval(float(data[0]), None, None)
    draws = np.random.default_rng(SEED).integers(len(data), size=(RESAMPLES, len(data)))
    medians = np.median(data[draws], axis=1)  # [resamples]
    low, high = np.quantile(medians, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(np.median(data)), float(low), float(high))
