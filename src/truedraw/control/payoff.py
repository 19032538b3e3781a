"""Draft as much as pays: by measured cost and measured acceptance, plain sampling always being one of the choices.

For every draft length k that is worth a look, the tokens of a round are 1 + f (s_1 + ... + s_k), where f is the share
of rounds for which the drafter finds something and s_j the chance that its first j tokens are all kept; the cost of a
round is that of a pass over its rows. The length with most tokens a cost is taken (renewal reward). Everything is
estimated from earlier rounds, so a decision never looks at a token whose fate it decides, and the law is untouched.

A chance s_j is the product of a_1 ... a_j, a_i being the chance that draft token i is kept when those before it were:
so short drafts, which cost next to nothing, also tell when longer ones would pay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from operator import mul

import numpy as np

from truedraw.protocol import Round

ROWS = (1, 2, 4, 6, 8, 12, 16, 32, 64, 128)
PASS = (1.0, 1.01, 1.04, 1.07, 1.14, 1.41, 1.59, 2.33, 3.85, 7.0)
"""Time of a pass over so many rows in single-row passes, int8 weights on two cores: where the estimate starts."""
PRIOR_ROUNDS = 8  # rounds of measuring that weigh as much as the estimate
CALIBRATION = 3  # rounds at first with no draft token, then with one, so that the cost of a row is known
NOISE = 1.1  # the measured cost of a row counts beyond this
MEMORY = 32  # rounds that running averages reach back
FIRST_KEPT, LATER_KEPT, PRIOR_TRIES = 0.15, 0.5, 4.0  # a_1, and the least of a_2, a_3, ... before it was tried
STEADY = 1.02  # a change of length must gain this much, since a change of shape costs
PROBE_EVERY = 32  # rounds of plain sampling between looks at one draft token


class Average:
    """A running mean that turns into an exponential one with a memory of `MEMORY` values."""

    def __init__(self, value: float = 0.0) -> None:
        self.count, self.value = 0, value

    def add(self, value: float) -> None:
        """Take one more value."""
        self.count += 1
        self.value += (value - self.value) / min(self.count, MEMORY)


class Acceptance:
    """a_1, a_2, ...: how often draft token i is kept when those before it were; what is long ago counts less."""

    def __init__(self, longest: int) -> None:
        self._kept, self._tried = np.zeros(longest), np.zeros(longest)

    def add(self, drafted: int, accepted: int) -> None:
        """One round of one sample: the tokens up to the first that was not kept were tried."""
        self._kept *= 1 - 1 / MEMORY
        self._tried *= 1 - 1 / MEMORY
        tried = min(drafted, accepted + 1)
        self._kept[: min(accepted, tried)] += 1
        self._tried[:tried] += 1

    def survival(self) -> list[float]:
        """s_1, s_2, ...; a token that was seldom tried is thought to do as well as the one before it."""
        chances: list[float] = []
        for kept, tried in zip(self._kept.tolist(), self._tried.tolist(), strict=True):
            prior = max(LATER_KEPT, chances[-1]) if chances else FIRST_KEPT
            chances.append((kept + PRIOR_TRIES * prior) / (tried + PRIOR_TRIES))
        return list(accumulate(chances, mul))


class PayoffController:
    """protocol.Controller with one length for all running samples, at most `num_speculative_tokens`."""

    def __init__(self, num_speculative_tokens: int) -> None:
        most = num_speculative_tokens
        self._lengths = sorted({0, most, *(size for size in (1, 3, 7, 15) if size < most)})
        self._shortest = self._lengths[min(1, len(self._lengths) - 1)]
        self._acceptance = Acceptance(most)
        self._found = Average(1.0)
        self._seconds = {length: Average() for length in self._lengths}
        self._length = self._steps = 0

    def budget(self, rooms: Sequence[int]) -> list[int]:
        """The length that pays most, or less where a text has less room left."""
        self._choose(len(rooms))
        return [min(self._length, room) for room in rooms]

    def observe(self, rounds: Sequence[Round]) -> None:
        """Learn from one step of the loop, the rounds of all samples that ran in it."""
        self._steps += 1
        if self._length:
            self._found.add(sum(r.drafted > 0 for r in rounds) / len(rounds))
        for r in rounds:
            if r.drafted:
                self._acceptance.add(r.drafted, r.accepted)
        if self._steps > 1:  # the first pass computed the prompt
            self._seconds[self._length].add(sum(r.seconds for r in rounds))

    def _choose(self, samples: int) -> None:
        if self._steps <= 2 * CALIBRATION:
            self._length = 0 if self._steps <= CALIBRATION else self._shortest
        elif self._length == 0 and self._steps % PROBE_EVERY == 0:
            self._length = self._shortest
        else:
            gain = [1.0, *(1 + self._found.value * s for s in accumulate(self._acceptance.survival()))]
            value = {length: gain[length] / self._cost(length, samples) for length in self._lengths}
            best = max(self._lengths, key=lambda length: value[length])
            self._length = best if value[best] > STEADY * value[self._length] else self._length

    def _cost(self, length: int, samples: int) -> float:
        """Seconds of a round, the estimate giving way to what was measured."""
        measured = self._seconds[length]
        weight = min(measured.count, MEMORY)
        return (PRIOR_ROUNDS * self._expected(length, samples) + weight * measured.value) / (PRIOR_ROUNDS + weight)

    def _expected(self, length: int, samples: int) -> float:
        """Seconds by the table, scaled to this engine's plain round and to what one draft token was seen to cost."""
        plain, short = self._seconds[0].value, self._seconds[self._shortest].value
        usual = table(self._shortest, samples) / table(0, samples)
        steeper = max(1.0, short / plain / usual / NOISE) if plain else 1.0
        return plain * table(length, samples) / table(0, samples) * math.pow(steeper, math.log2(length + 1))


def table(length: int, samples: int) -> float:
    """Passes of one row that a round of `samples` texts with `length` draft tokens each is worth."""
    return _interpolated(samples * (length + 1))


@cache
def _interpolated(rows: int) -> float:
    return float(np.interp(rows, ROWS, PASS))
