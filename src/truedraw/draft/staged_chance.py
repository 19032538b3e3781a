"""The chance of an inner round loop: draws of every purpose, under names that no other loop uses.

A round of the outer loop owns the names (DRAFT, its position, node) as its drafter. All that the inner loop draws, the
drafts of its drafter, its coins and its residuals, in as many inner rounds as there are, becomes such a draw: the names
of the inner loop, which are all different, are numbered, and the number is the node. The number of a name depends on
what the inner loop asked before, and so on the text and the seed alone. A stage in a stage is numbered again.

The noise of the target is handed on as it is: that it is met again is what coupling means.
"""

from __future__ import annotations

from truedraw.protocol import Floats, Purpose, Randomness, SparseLaw
from truedraw.sampling.randomness import choose_sparse


class StagedChance:
    """protocol.Randomness inside the draft of the round that starts at `position`."""

    def __init__(self, outer: Randomness, position: int) -> None:
        self._outer, self._position = outer, position
        self._numbers: dict[tuple[int, int, int], int] = {}

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """As protocol.Randomness."""
        if purpose == Purpose.TARGET:
            return self._outer.choose(weights, purpose, position, node)
        return self._outer.choose(weights, Purpose.DRAFT, self._position, self._number(purpose, position, node))

    def choose_sparse(self, law: SparseLaw, purpose: Purpose, position: int, node: int = 0) -> int:
        """As sampling.randomness.choose_sparse."""
        if purpose == Purpose.TARGET:
            return choose_sparse(self._outer, law, purpose, position, node)
        number = self._number(purpose, position, node)
        return choose_sparse(self._outer, law, Purpose.DRAFT, self._position, number)

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """As protocol.Randomness."""
        return self._outer.accept(p, q, Purpose.DRAFT, self._position, self._number(purpose, position, node))

    def _number(self, purpose: Purpose, position: int, node: int) -> int:
        return self._numbers.setdefault((int(purpose), position, node), len(self._numbers))
