"""Rules that decide as exact ones do, and go wrong by the names they draw with, by memory or by writing."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import ROOT, Purpose
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.token import TokenVerifier
from truedraw.verify.traversal import TraversalVerifier


class OneCoinForTwo(TokenVerifier):
    """From the fifth draft on a coin has the name of another one."""

    def __call__(self, proposal, rows, randomness, position):
        return super().__call__(proposal, rows, Renamed(randomness, lambda node: node % 5), position)


class DrawsAsDraftersDo(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        return super().__call__(proposal, rows, Renamed(randomness, lambda node: 500 + node, Purpose.DRAFT), position)


class NamesByThePlaceInTheText(TokenVerifier):
    """Coins have the name of the place, of which the next round has some again."""

    def __call__(self, proposal, rows, randomness, position):
        for node in range(1, len(proposal)):
            randomness.accept(0.5, 1.0, Purpose.AUDIT, position + node // 3, node % 3)
        return super().__call__(proposal, rows, randomness, position)


class Renamed:
    """Chance with other names."""

    def __init__(self, inner, name, purpose=None):
        self.inner, self.name, self.purpose = inner, name, purpose

    def choose(self, weights, purpose, position, node=0):
        return self.inner.choose(weights, purpose, position, node)

    def accept(self, p, q, purpose, position, node=0):
        return self.inner.accept(p, q, self.purpose or purpose, position, self.name(node))


class RemembersRowsByPosition(TraversalVerifier):
    """Takes a row that it has seen at a position for the row of every text there."""

    def __init__(self):
        self.seen = {}

    def __call__(self, proposal, rows, randomness, position):
        if len(proposal) or len(rows[0]) < 5:
            return super().__call__(proposal, rows, randomness, position)
        row = self.seen.setdefault((position, len(rows[0])), rows[0])
        return super().__call__(proposal, [row], randomness, position)


class GetsTired(TraversalVerifier):
    """Refuses to keep anything behind a hundred texts with real chance."""

    calls = 0

    def __call__(self, proposal, rows, randomness, position):
        self.calls += isinstance(randomness, PhiloxRandomness)
        kept = proposal if self.calls < 100 else proposal.only(np.arange(0))
        return super().__call__(kept, rows, randomness, position)


class WritesIntoTheTokens(TraversalVerifier):
    def __call__(self, proposal, rows, randomness, position):
        verdict = super().__call__(proposal, rows, randomness, position)
        proposal.tokens[:] = 0
        return verdict


class WritesIntoAFarRow(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        verdict = super().__call__(proposal, rows, randomness, position)
        if verdict.num_accepted > 4:
            rows[5][:] = 0.0
        return verdict


class NoiseOfTheTree(CoupledVerifier):
    """Other noise where siblings are looked at: exact, but the text depends on what is drafted."""

    def __call__(self, proposal, rows, randomness, position):
        tree = (proposal.parents == ROOT).sum() > 1
        return super().__call__(proposal, rows, Shifted(randomness, 1000 * tree), position)


class NoiseFarDown(CoupledVerifier):
    def __call__(self, proposal, rows, randomness, position):
        return super().__call__(proposal, rows, Shifted(randomness, len(proposal) > 8), position)


class Shifted:
    def __init__(self, inner, node):
        self.inner, self.node = inner, int(node)

    def choose(self, weights, purpose, position, node=0):
        return self.inner.choose(weights, purpose, position, node + self.node)


class TakesNearLawsForEqual(TokenVerifier):
    """Keeps a draft whose ratio is almost 1, as if it were."""

    least = 0.995

    def __call__(self, proposal, rows, randomness, position):
        return super().__call__(proposal, rows, NearlyCertain(randomness, self.least), position)


class NearlyCertain:
    def __init__(self, inner, least):
        self.choose, self._accept, self._least = inner.choose, inner.accept, least

    def accept(self, p, q, purpose, position, node=0):
        return self._accept(q if p > self._least * q else p, q, purpose, position, node)


class NeverDrawsFaintTokens(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        return super().__call__(proposal, rows, WithoutFaintTokens(randomness), position)


class WithoutFaintTokens:
    def __init__(self, inner):
        self._choose, self.accept = inner.choose, inner.accept

    def choose(self, weights, purpose, position, node=0):
        return self._choose(np.where(weights < 1e-5 * weights.sum(), 0.0, weights), purpose, position, node)
