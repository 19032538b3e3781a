"""Real randomness that watches its names: each is for one draw."""

from __future__ import annotations

from truedraw.protocol import Floats, Purpose, Randomness
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import require
from truedraw.testing.enumeration import PART_OF_THE_LAW

SHARED = (*PART_OF_THE_LAW, Purpose.TARGET)  # with which drafts may be drawn that are certain, as coupled ones are


class NamedOnce:
    """Samples by seed, as Chance of runs.py."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def sample(self, index: int) -> Randomness:
        """Of one sample."""
        return _Watched(PhiloxRandomness(self._seed, index))


class _Watched:
    """protocol.Randomness; raises AssertionError for a name that was there before."""

    def __init__(self, inner: Randomness) -> None:
        self._inner, self._names = inner, set[tuple[int, int, int]]()

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """See Randomness."""
        self._name(purpose, position, node)
        return self._inner.choose(weights, purpose, position, node)

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """See Randomness."""
        self._name(purpose, position, node)
        return self._inner.accept(p, q, purpose, position, node)

    def _name(self, purpose: Purpose, position: int, node: int) -> None:
        name = int(purpose), position, node
        require(
            purpose in SHARED or name not in self._names,
            f"two draws are named ({purpose.name}, {position}, {node}): they are one number, and dependent; "
            "name a draw by the length of the committed text and a node of the round",
        )
        self._names.add(name)
