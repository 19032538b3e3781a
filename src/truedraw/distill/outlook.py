"""What ten times as much training might give, from the looks at held-out text: an extrapolation, and said to be one.

What is missing, top - y with top 1 for an acceptance and 1 + chain for tokens a round, is fitted as c * n^-b of the
tokens trained on n, a straight line in logarithms (power laws of this kind: Hestness et al., 1712.00409), over the last
factor of ten of n. The interval is the usual one for a further observation of such a line (Student's t). It knows how
the looks scatter, not whether the law goes on: that the rate of learning fell and that the loss changed on the way is
in the looks, and a floor, which every small network has, is not in the law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from truedraw.protocol import Floats

TIMES = 10
FEWEST = 5  # looks to which a line is fitted
LEVEL = 0.95
LEAST = 1e-6  # that is missing, so that it has a logarithm
DIGITS = 4
Look = Mapping[str, Any]
Range = dict[str, float]


class Line(NamedTuple):
    """log(missing) = at + slope * (log(n) - middle), with the spread of what it leaves over."""

    at: float
    slope: float
    middle: float
    width: float  # sum of squared distances of log(n) from the middle
    spread: float  # standard deviation of residuals
    points: int

    def missing(self, tokens: float) -> tuple[float, float, float]:
        """At n tokens: expected, and the ends of its interval, the lower one first."""
        from scipy.stats import t

        off = math.log(tokens) - self.middle
        error = self.spread * math.sqrt(1 + 1 / self.points + off**2 / self.width)
        far = error * float(t.ppf((1 + LEVEL) / 2, self.points - 2))
        here = self.at + self.slope * off
        return math.exp(here), math.exp(here - far), math.exp(here + far)


def outlook(looks: Sequence[Look], times: int = TIMES) -> dict[str, Any] | None:
    """None where there are too few looks; else values at `times` as many tokens, with 95 % intervals.

    {"tokens", "times", "looks", "acceptance": [{"expected", "low", "high"}, ...], "tokens_a_round": {...}}
    """
    some = late(looks)
    if len(some) < FEWEST:
        return None
    tokens = some[-1]["tokens"] * times
    chain = len(some[0]["acceptance"])
    by_position = [_ahead(some, [each["acceptance"][i] for each in some], 1.0, tokens) for i in range(chain)]
    rounds = _ahead(some, [each["tokens_a_round"] for each in some], 1.0 + chain, tokens)
    return {"tokens": tokens, "times": times, "looks": len(some), "acceptance": by_position, "tokens_a_round": rounds}


def late(looks: Sequence[Look]) -> list[Look]:
    """Those of the last factor of ten of tokens, each number of tokens once."""
    by_tokens = {each["tokens"]: each for each in looks if each["tokens"] > 0}
    last = max(by_tokens, default=0)
    return [by_tokens[tokens] for tokens in sorted(by_tokens) if tokens * TIMES >= last]


def fitted(tokens: Sequence[float], missing: Sequence[float]) -> Line:
    """By least squares over at least three different numbers of tokens."""
    x, y = np.log(np.asarray(tokens, np.float64)), np.log(np.maximum(missing, LEAST))
    middle = float(x.mean())
    width = float(((x - middle) ** 2).sum())
    slope = float(((x - middle) * y).sum() / width)
    off: Floats = y - y.mean() - slope * (x - middle)
    return Line(float(y.mean()), slope, middle, width, float(np.sqrt((off**2).sum() / (len(x) - 2))), len(x))


def _ahead(looks: Sequence[Look], values: Sequence[float], top: float, tokens: float) -> Range:
    line = fitted([each["tokens"] for each in looks], [top - value for value in values])
    expected, least, most = line.missing(tokens)
    ends = {"expected": top - expected, "low": top - most, "high": top - least}
    bottom = 0.0 if top == 1 else 1.0
    return {name: round(min(max(value, bottom), top), DIGITS) for name, value in ends.items()}
