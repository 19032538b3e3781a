"""The chance of one drafter among several that draw for the same place of a text."""

from __future__ import annotations

from dataclasses import dataclass

from truedraw.errors import BadParameter
from truedraw.protocol import Floats, Purpose, Randomness, SparseLaw
from truedraw.sampling.randomness import NODE_BITS, choose_sparse

SHARED = (Purpose.TARGET, Purpose.XTC)
"""Chance that belongs to a position, whoever asks for it."""


@dataclass(frozen=True, slots=True)
class OwnChance:
    """protocol.Randomness of source number `source` of `sources`: no two of them can name the same draw.

    Sources count their draws from 0 on; node * sources + source keeps them apart, and those of a mix inside a mix.
    """

    randomness: Randomness
    source: int
    sources: int

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """As protocol.Randomness."""
        return self.randomness.choose(weights, purpose, position, self._own(purpose, node))

    def choose_sparse(self, law: SparseLaw, purpose: Purpose, position: int, node: int = 0) -> int:
        """As sampling.randomness.choose_sparse."""
        return choose_sparse(self.randomness, law, purpose, position, self._own(purpose, node))

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """As protocol.Randomness."""
        return self.randomness.accept(p, q, purpose, position, self._own(purpose, node))

    def _own(self, purpose: Purpose, node: int) -> int:
        if purpose in SHARED:
            return node
        own = node * self.sources + self.source
        if own >> NODE_BITS:
            raise BadParameter("sources", f"a source asked for draw {node}; too many sources inside one another")
        return own
