"""Means over texts and differences of losses, with bootstrap intervals (Efron 1979) whose unit is the text: rows of one
text are alike, so that their number says little of how far a mean is to be trusted.

Every loss was measured at the same rows. A series of resampled texts is therefore used for all of them, and the
difference of two losses varies much less than each of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from truedraw.distill.comparison.seen import Sums
from truedraw.protocol import Floats

RESAMPLES = 4000  # the ends then move by a few hundredths of the interval's width
LEVEL = 0.95
TOKENS = -1  # the column of tokens a round


class Means(NamedTuple):
    """Of one loss."""

    mean: Floats  # [columns]
    resampled: Floats | None  # [resamples, columns]; None: one text says nothing of others


def means_of(sums: Mapping[str, Sums]) -> dict[str, Means]:
    """Of each loss, with the same texts drawn again and again for all of them."""
    found: dict[str, Means] = {}
    texts = len(next(iter(sums.values())).rows)
    counts = np.random.default_rng(0).multinomial(texts, np.full(texts, 1 / texts), RESAMPLES)
    for name, (rows, values) in sums.items():
        again = (counts @ values) / (counts @ rows)[:, None] if texts > 1 else None
        found[name] = Means(values.sum(0) / rows.sum(), again)
    return found


def best_of(means: Mapping[str, Means]) -> str:
    """The loss with the most tokens a round."""
    return max(means, key=lambda name: means[name].mean[TOKENS])


def less(one: Means, other: Means) -> Means:
    """`one` - `other`, text by text."""
    if one.resampled is None or other.resampled is None:
        return Means(one.mean - other.mean, None)
    return Means(one.mean - other.mean, one.resampled - other.resampled)


def told(means: Means) -> list[dict[str, float | None]]:
    """Means and the ends of their intervals [columns], for JSON."""
    if means.resampled is None:
        return [{"mean": float(each), "low": None, "high": None} for each in means.mean]
    low, high = np.quantile(means.resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    columns: Any = zip(means.mean.tolist(), low.tolist(), high.tolist(), strict=True)
    return [{"mean": mean, "low": least, "high": most} for mean, least, most in columns]
