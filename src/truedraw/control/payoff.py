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
from numpy.typing import NDArray

from truedraw.control.acceptance import Acceptances
from truedraw.control.costs import LADDER, PassCosts
from truedraw.protocol import Floats, Round

CALIBRATION = 3  # rounds at first without drafts, so that their cost is known
FEW = 4  # a look: one draft token for every fourth text, in turn
STEADY = 1.02  # a change of the number of rows must gain this much, since a change of shape costs
PROBE_EVERY = 32  # rounds at least between looks where nothing is drafted, or at plain rounds where drafts hardly gain
LOOKS, EARLY = 0.005, 0.02  # share of the time that looks may take, and that the first of each text may
AGAIN = 8  # rounds after which a decision for plain sampling is thought over, though nothing was learnt
LONGEST_PAUSE = 128  # rounds from one look to the next, whatever it costs: texts change
CLOSE = 1.1  # a gain below this is looked at again


class PayoffController:
    """protocol.Controller: at most `num_speculative_tokens` a text, shared out by what they are worth."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self._most = num_speculative_tokens
        self._acceptances = Acceptances(num_speculative_tokens)
        self._costs = PassCosts()
        self._asked: set[int] = set()
        self._steps = self._drafts = self._looks = self._looked = 0

    def budget(self, rooms: Sequence[int], samples: Sequence[int]) -> list[int]:
        """The tokens that pay, or less where a text has less room left."""
        if self._is_look(len(samples)):
            taken = self._look(rooms)
        elif self._steps <= CALIBRATION or (not self._asked and self._steps % AGAIN):
            taken = [0] * len(samples)
        else:
            taken = self._shared_out(np.asarray(rooms), samples)
        self._drafts = sum(taken)
        self._asked = {sample for sample, tokens in zip(samples, taken, strict=True) if tokens}
        return taken

    def observe(self, rounds: Sequence[Round]) -> None:
        """Learn from one step of the loop, the rounds of all samples that ran in it."""
        if rounds[0].pass_rows == 0:  # nothing was computed, so nothing was drafted either
            return
        self._steps += 1
        self._acceptances.add(rounds, self._asked)
        self._costs.add(rounds[0].pass_rows, sum(r.seconds for r in rounds))

    def _is_look(self, samples: int) -> bool:
        return self._steps > CALIBRATION and not self._drafts and self._steps - self._looked >= self._pause(samples)

    def _look(self, rooms: Sequence[int]) -> list[int]:
        """One draft token for each text whose turn it is."""
        self._looked = self._steps
        self._looks += 1
        due = self._looks % min(FEW, len(rooms))
        return [min(1, room, self._most) if i % FEW == due else 0 for i, room in enumerate(rooms)]

    def _shared_out(self, rooms: NDArray[np.int64], samples: Sequence[int]) -> list[int]:
        """The draft tokens that are worth most, as many as pay."""
        gains = self._acceptances.gains(samples)
        gains[np.arange(self._most) >= rooms[:, None]] = 0.0
        order = np.argsort(-gains, axis=None, kind="stable")[: np.count_nonzero(gains)]
        worth = np.concatenate(([0.0], np.cumsum(gains.ravel()[order])))
        number = self._number(worth, len(samples))
        taken = np.bincount(order[:number] // max(self._most, 1), minlength=len(samples))
        return [int(tokens) for tokens in taken]

    def _number(self, worth: Floats, samples: int) -> int:
        """Draft tokens for all texts together; `worth[m]` is what the best m of them are worth."""
        speed = self._speeds(worth, samples)
        best = max(speed, key=lambda m: (speed[m], -m))
        if self._drafts and speed[best] < CLOSE * speed[0] and self._steps - self._looked >= PROBE_EVERY:
            self._looked = self._steps
            return 0
        present = speed.get(self._drafts)
        return best if present is None or speed[best] > STEADY * present else self._drafts

    def _pause(self, samples: int) -> float:
        """Rounds from one look to the next."""
        few = -(-samples // FEW)
        extra = self._costs.seconds(samples + few) / self._costs.seconds(samples) - 1
        early = self._looks < FEW
        return min(max(1 if early else PROBE_EVERY, extra / (EARLY if early else LOOKS)), LONGEST_PAUSE)

    def _speeds(self, worth: Floats, samples: int) -> dict[int, float]:
        """Tokens a second by the number of draft tokens: none, all, and those that fill a pass."""
        filled = [rows - samples for rows in LADDER if 0 < rows - samples < len(worth)]
        numbers = {0, *filled, len(worth) - 1}
        return {m: float(samples + worth[m]) / self._costs.seconds(samples + m) for m in numbers}
