"""One text's drawn tree of one round while it grows, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truedraw.compiled import later
from truedraw.draft.growing import MARGIN, Draws, without
from truedraw.draft.shape import Level
from truedraw.protocol import ROOT, DraftLaw, Law, Proposal, SparseLaw
from truedraw.sampling.transform import fits

SUM_OF_SQUARES = later("truedraw.sampling.kernels.lawful", "sum_of_squares")


class Place(NamedTuple):
    """Where candidates are to be drawn: behind a node, or behind the text."""

    law: Law  # the draft's, of the token to come
    node: int = ROOT  # in the proposal
    token: int = -1  # of that node
    row: int = 0  # the number, among the places of the level before, of the one that the node was drawn at


class Growth:
    """Grows by `levels`, from a text where drafts have this law."""

    def __init__(self, levels: tuple[Level, ...], law: Law) -> None:
        self._levels = levels
        self._depth = 0
        self._level: list[Place | None] = [Place(law)]  # behind each node of the last level; None: it was not drawn
        self._wanted = self._next()
        self._tokens: list[int] = []
        self._parents: list[int] = []
        self._laws: list[DraftLaw | None] = []
        self._sure: list[float] = []

    def wanted(self) -> list[Place]:
        """Where the next level is drawn; [] = done."""
        return self._wanted

    def grow(self, laws: Sequence[SparseLaw | None], draws: Draws) -> None:
        """Draw the next level, from the laws [wanted] of its places; None: nothing is to be drawn there."""
        level: list[Place | None] = []
        known = {place.node: each for place, each in zip(self._wanted, enumerate(laws), strict=True)}
        for above, count in self._levels[self._depth]:
            place = self._level[above]
            row, q = (0, None) if place is None else known[place.node]
            level.extend([None] * count if place is None or q is None else self._drawn(place, row, q, count, draws))
        self._level, self._depth = level, self._depth + 1
        self._wanted = self._next()

    def ended(self) -> Proposal:
        """What was drafted."""
        sure = np.array([min(max(each, MARGIN), 1.0 - MARGIN) for each in self._sure], np.float64)
        tokens, parents = np.array(self._tokens, np.int64), np.array(self._parents, np.int64)
        return Proposal(tokens, parents, tuple(self._laws), sure)

    def _next(self) -> list[Place]:
        if self._depth >= len(self._levels):
            return []
        return [place for above, _ in self._levels[self._depth] if (place := self._level[above]) is not None]

    def _drawn(self, place: Place, row: int, q: SparseLaw, count: int, draws: Draws) -> list[Place | None]:
        """`count` candidates at a place, and what is behind each."""
        found: list[Place | None] = [None] * count
        sure, left = sureness(q), 1.0
        for number in range(count):
            if not (q.weights.any() if number else sure):
                break
            node = len(self._tokens)
            token, reported = draws.token(q, self._depth, node)
            self._tokens.append(token)
            self._parents.append(place.node)
            self._laws.append(reported)
            self._sure.append(sure * left)
            found[number] = Place(place.law.after(token), node, token, row)
            q, left = without(q, token) if number + 1 < count else q, left * (1.0 - sure)
        return found


def sureness(q: SparseLaw) -> float:
    """sum(q^2): the chance of a draw from q to be met by another one. Known before the draw, as it has to be.

    Over 2,500 places in texts of SmolLM2-135M it rises with sum(min(p, q)), correlation 0.52.
    """
    if not fits(q.weights, np.float64):
        return float(np.add.reduce(np.square(q.weights)))  # not by BLAS, whose threads fight for the engine's cores
    return float(SUM_OF_SQUARES()(q.weights))
