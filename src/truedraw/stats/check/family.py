"""Many hypotheses as one family, with one error for all (Holm 1979), and how small a bias such a family can see."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for their number: those at most alpha are rejected with a family error of alpha."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def smallest_visible(count: int, tests: int, alpha: float, power: float) -> float:
    """Mean total variation a token that a directed test of this family finds with this power: d = z / (2 sqrt(N)).

    An event of chance c has variance c (1 - c) <= 1/4; the first step of Holm's procedure rejects at alpha / tests.
    """
    from scipy import stats

    z = float(stats.norm.isf(alpha / tests / 2) + stats.norm.isf(1 - power))
    return z / (2 * math.sqrt(count)) if count else math.inf
