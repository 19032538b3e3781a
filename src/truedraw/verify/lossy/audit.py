"""An upper bound of a sum of divergences of which only a random part was looked at, valid at any time.

At each place t of a growing list there is a divergence d_t in [0, 1], fixed before a coin of probability rho decides
whether it is seen. With Y_t = d_t where the coin fell so, otherwise 0, and any stake 0 < s < 1,

    L_t = prod over i <= t of (1 - s Y_i) exp(s rho d_i)

is a supermartingale that starts at 1, because E[1 - s Y | past] = 1 - s rho d <= exp(-s rho d). By Ville's inequality
the mean of L over several stakes ever exceeds 1 / delta with probability at most delta, so that for all t at once

    sum(d) <= min over stakes of (log(stakes / delta) - sum(log(1 - s Y))) / (s rho).

This is a betting confidence sequence (Waudby-Smith and Ramdas, 2010.09686) for means that may change from place to
place; log(1 - s y) >= -s y - (-log(1 - s) - s) y^2 turns it into the empirical-Bernstein one of Howard, Ramdas,
McAuliffe and Sekhon (1810.08240, theorem 4).
"""

from __future__ import annotations

import math

DELTA = 0.05  # chance that the bound is ever too low
STAKES = tuple(0.9 * 2.0**-i for i in range(12))
"""Large ones settle quickly that there is nothing, small ones follow a mean over a million places."""


class AuditedSum:
    """The list so far."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._logs = [0.0] * len(STAKES)
        self.places = self.audited = 0
        self.seen = 0.0  # sum of the divergences that were seen

    def skipped(self) -> None:
        """A place that was not looked at."""
        self.places += 1

    def looked(self, divergence: float) -> None:
        """A place that was."""
        self.places += 1
        self.audited += 1
        y = min(max(divergence, 0.0), 1.0)  # a sum of rounded numbers
        self.seen += y
        self._logs = [log + math.log1p(-stake * y) for log, stake in zip(self._logs, STAKES, strict=True)]

    @property
    def estimate(self) -> float:
        """Of the sum over all places, without bias."""
        return self.seen / self._rate

    @property
    def bound(self) -> float:
        """Of the sum over all places: with probability 1 - DELTA it is never too low, however often it is looked at."""
        threshold = math.log(len(STAKES) / DELTA)
        least = min((threshold - log) / stake for log, stake in zip(self._logs, STAKES, strict=True))
        return min(least / self._rate, float(self.places))
