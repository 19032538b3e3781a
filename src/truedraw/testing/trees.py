"""Drafters over a table whose drafts are trees: shapes and tables as data, for rules that take more than chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truedraw.errors import BadParameter
from truedraw.protocol import ROOT, DraftState, Floats, Proposal, Purpose, Randomness
from truedraw.testing.scenarios import Scenario, TableDrafter
from truedraw.testing.tables import Table, random_table

Node = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """Nodes (parent, source) in topological order.

    Sources: "q" a sample of the draft table; "w" one without the tokens of earlier siblings; "t" certain, the
    likeliest token. A node whose source has nothing left is not drafted, nor is what would follow it.
    """

    name: str
    nodes: tuple[Node, ...]

    def __str__(self) -> str:
        return self.name


SHAPES = (
    Shape("chain of sampled and certain drafts", ((ROOT, "q"), (0, "t"), (1, "q"))),
    Shape("independent siblings", ((ROOT, "q"), (ROOT, "q"))),
    Shape("siblings without replacement", ((ROOT, "w"), (ROOT, "w"))),
    Shape("a sample and a certain sibling", ((ROOT, "q"), (ROOT, "t"))),
    Shape("two paths", ((ROOT, "q"), (0, "q"), (ROOT, "q"), (2, "q"))),
    Shape("caterpillar", ((ROOT, "w"), (ROOT, "w"), (0, "w"), (0, "w"))),
    Shape("three independent siblings", ((ROOT, "q"), (ROOT, "q"), (ROOT, "q"))),
)
TREES = (
    Scenario("three tokens", random_table(3, 1, 50), random_table(3, 1, 51), draft_tokens=4, max_tokens=5),
    Scenario("zeros in p", random_table(3, 1, 74, zeros=0.4), random_table(3, 1, 53), draft_tokens=4, max_tokens=5),
    Scenario("zeros in q", random_table(3, 1, 54), random_table(3, 1, 86, zeros=0.4), draft_tokens=4, max_tokens=5),
)
"""Whatever stands before, two tokens or three may come: where only one can, no rule could be wrong."""


@dataclass(slots=True)
class _Growing:
    """A tree on its way. `spots[i]` is the place of shape node i in the proposal, None where it was left out."""

    text: list[int]
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    laws: list[Floats | None] = field(default_factory=list)
    spots: list[int | None] = field(default_factory=list)

    def path(self, node: int) -> list[int]:
        """The text up to a node."""
        tokens: list[int] = []
        while node != ROOT:
            tokens.insert(0, self.tokens[node])
            node = self.parents[node]
        return [*self.text, *tokens]

    def siblings(self, parent: int) -> list[int]:
        """Tokens that already follow `parent`."""
        return [token for token, above in zip(self.tokens, self.parents, strict=True) if above == parent]

    def add(self, token: int, parent: int, law: Floats | None) -> None:
        """One more node."""
        self.spots.append(len(self.tokens))
        self.tokens.append(token)
        self.parents.append(parent)
        self.laws.append(law)


class TreeDrafter(TableDrafter):
    """protocol.Drafter that draws a shape from a table; nothing where the budget is smaller than the shape."""

    def __init__(self, table: Table, shape: Shape) -> None:
        super().__init__(table)
        self._shape = shape

    def propose(
        self, states: Sequence[DraftState], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A tree a state."""
        return [
            self._tree(state, chance) if budget >= len(self._shape.nodes) else Proposal.chain(())
            for state, budget, chance in zip(states, budgets, randomness, strict=True)
        ]

    def _tree(self, state: Any, randomness: Randomness) -> Proposal:
        growing = _Growing(list(state.text))
        for node, (above, source) in enumerate(self._shape.nodes):
            parent = ROOT if above == ROOT else growing.spots[above]
            law = None if parent is None else self._law(state, growing, parent, source)
            if parent is None or law is None:
                growing.spots.append(None)
            elif source == "t":
                growing.add(int(law.argmax()), parent, None)
            else:
                growing.add(randomness.choose(law, Purpose.DRAFT, len(state.text), node), parent, law)
        parents = np.array(growing.parents, dtype=np.int64)
        return Proposal(np.array(growing.tokens, dtype=np.int64), parents, tuple(growing.laws))

    def _law(self, state: Any, growing: _Growing, parent: int, source: str) -> Floats | None:
        try:
            q = self.law_after(state, growing.path(parent)).copy()
        except BadParameter:
            return None
        if source == "w":
            q[growing.siblings(parent)] = 0.0
        return q / q.sum() if q.sum() > 0 else None
