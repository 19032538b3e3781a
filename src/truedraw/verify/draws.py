"""The names of the draws of one round under the p/q rules, in one place, so that no two can be the same.

Every draft node can be tested by one coin, and one token can be drawn after every node and after the committed text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truedraw.protocol import DraftLaw, Floats, Proposal, Purpose, Randomness, Rows, Verdict
from truedraw.sampling.transform import fits
from truedraw.verify.residual import residual


def draw(rows: Rows, row: int, randomness: Randomness, purpose: Purpose, position: int, node: int = 0) -> int:
    """The token that randomness.choose(rows[row], ...) draws; such rows as can do so draw it without writing p down."""
    drawing = getattr(rows, "draw", None)
    if drawing is None:
        return randomness.choose(rows[row], purpose, position, node)
    return int(drawing(row, randomness, purpose, position, node))


def decided(rows: Rows, coupled: bool, proposal: Proposal, randomness: Randomness, position: int) -> Verdict | None:
    """What compiled code decides of a round; None where the rows know of none, or it leaves that to the rule."""
    deciding = getattr(type(rows), "decide", None)  # of their own: others may stand around rows that decide
    return None if deciding is None else deciding(rows, coupled, proposal, randomness, position)


@dataclass(frozen=True, slots=True)
class Draws:
    """The randomness of the round that starts at `position`, the length of the committed text."""

    randomness: Randomness
    position: int

    def keep(self, p: float, q: float, node: int) -> bool:
        """The coin of a draft node: True with probability min(1, p / q)."""
        return self.randomness.accept(float(p), float(q), Purpose.ACCEPT, self.position, node)

    def after(self, weights: Floats, node: int) -> int:
        """The token after a draft node, or after the committed text (ROOT), drawn from weights [vocab]."""
        return self.randomness.choose(weights, Purpose.RESIDUAL, self.position, 1 + node)

    def left(self, p: Floats, q: DraftLaw | None, token: int, node: int) -> int:
        """after(residual(p, q, token), node); such randomness as can do so never writes the residual down."""
        own = getattr(self.randomness, "choose_left", None)
        if own is None or not isinstance(q, np.ndarray) or not (fits(p, np.float64) and fits(q, np.float64)):
            return self.after(residual(p, q, token), node)
        return int(own(p, q, Purpose.RESIDUAL, self.position, 1 + node))

    def at(self, rows: Rows, node: int) -> int:
        """The same from the target's own row there."""
        return draw(rows, 1 + node, self.randomness, Purpose.RESIDUAL, self.position, 1 + node)
