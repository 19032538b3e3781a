"""Faults that are injected into a drafter: chance that fails, and a law that does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Never

from truedraw.protocol import Floats, Law, Logits, Purpose, Randomness


class Injected(Exception):
    """Raised on purpose; whoever keeps a drafter alive must expect any error."""


class NoChance:
    """protocol.Randomness of which every draw fails."""

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> Never:
        """Fails."""
        raise Injected("a draw")

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> Never:
        """Fails."""
        raise Injected("a coin")


class BrokenLaw:
    """protocol.Law that fails wherever it is applied."""

    def __call__(self, logits: Logits) -> Floats:
        """Fails."""
        raise Injected("a law")

    def after(self, token: int, p: Floats | None = None) -> Law:
        """Itself."""
        return self

    def forced(self, limit: int) -> Sequence[int]:
        """Nothing."""
        return ()


NO_CHANCE: Randomness = NoChance()
BROKEN_LAW: Law = BrokenLaw()
