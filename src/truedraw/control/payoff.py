"""Draft as much as pays: by measured cost and measured acceptance, plain sampling always being one of the choices.

The j-th draft token of a text is worth f s_j tokens: f is the share of its rounds for which the drafter finds
something, s_j the chance that its first j draft tokens are all kept. The rows of a pass are shared by all running
texts, so the tokens that are worth most come first, whichever text they belong to, and as many of them are drafted as
give most tokens a cost (renewal reward): (texts + their gains) / (seconds of a pass over so many rows). The best of
all numbers is taken, not the first from which another token does not pay, since the cost rises in steps.

Everything is estimated from earlier rounds, so a decision never looks at a token whose fate it decides, and the law is
untouched. Short drafts, which cost next to nothing, also tell when longer ones would pay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.control.acceptance import Acceptances
from truedraw.control.costs import LADDER, PassCosts
from truedraw.protocol import Floats, Round

CALIBRATION = 3  # rounds at first without drafts, then with few, so that the cost of a row is known
FEW = 4  # texts that share one draft token where drafts are only looked at
STEADY = 1.02  # a change of the number of rows must gain this much, since a change of shape costs
PROBE_EVERY = 32  # rounds between looks at few drafts where none are drawn, and at none where they hardly gain
CLOSE = 1.1  # a gain below this is looked at again


class PayoffController:
    """protocol.Controller: at most `num_speculative_tokens` a text, shared out by what they are worth."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self._most = num_speculative_tokens
        self._acceptances = Acceptances(num_speculative_tokens)
        self._costs = PassCosts()
        self._asked: set[int] = set()
        self._steps = self._drafts = 0

    def budget(self, rooms: Sequence[int], samples: Sequence[int]) -> list[int]:
        """The tokens that pay, or less where a text has less room left."""
        gains = self._acceptances.gains(samples)
        gains[np.arange(self._most) >= np.asarray(rooms)[:, None]] = 0.0
        order = np.argsort(-gains, axis=None, kind="stable")[: np.count_nonzero(gains)]
        worth = np.concatenate(([0.0], np.cumsum(gains.ravel()[order])))
        self._drafts = min(self._number(worth, len(samples)), len(order))
        taken = np.bincount(order[: self._drafts] // max(self._most, 1), minlength=len(samples))
        self._asked = {sample for sample, tokens in zip(samples, taken, strict=True) if tokens}
        return [int(tokens) for tokens in taken]

    def observe(self, rounds: Sequence[Round]) -> None:
        """Learn from one step of the loop, the rounds of all samples that ran in it."""
        if rounds[0].pass_rows == 0:  # nothing was computed, so nothing was drafted either
            return
        self._steps += 1
        self._acceptances.add(rounds, self._asked)
        self._costs.add(rounds[0].pass_rows, sum(r.seconds for r in rounds))

    def _number(self, worth: Floats, samples: int) -> int:
        """Draft tokens for all texts together; `worth[m]` is what the best m of them are worth."""
        few = -(-samples // FEW)
        if self._steps <= 2 * CALIBRATION:
            return 0 if self._steps <= CALIBRATION else few
        speed = self._speeds(worth, samples)
        best = max(speed, key=lambda m: (speed[m], -m))
        if self._steps % PROBE_EVERY == 0 and speed[best] < CLOSE * speed[0]:
            return few if self._drafts == 0 else 0
        present = speed.get(self._drafts)
        return best if present is None or speed[best] > STEADY * present else self._drafts

    def _speeds(self, worth: Floats, samples: int) -> dict[int, float]:
        """Tokens a second by the number of draft tokens: none, all, and those that fill a pass."""
        filled = [rows - samples for rows in LADDER if 0 < rows - samples < len(worth)]
        numbers = {0, *filled, len(worth) - 1}
        return {m: float(samples + worth[m]) / self._costs.seconds(samples + m) for m in numbers}
