"""Shapes of a drafter's trees, settled before anything is drawn, and what became of drafts, learnt for the next."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.draft.shape import Level, chain_of, levels, worths
from truedraw.draft.siblings import OfText, Siblings
from truedraw.protocol import ROOT, Proposal, Scores


class Trees:
    """Shapes for one drafter: by what was learnt, or with a fixed number of candidates for the first token.

    chains: the rule takes nothing else. narrow: a second candidate takes more than it brings. So it is where an engine
    computes every branch as a text of its own (a chain of two 0.98 of a plain pass, two candidates 1.15, SmolLM2-135M),
    and where compiled code runs rounds with chains.
    """

    def __init__(
        self,
        siblings: Siblings,
        deepest: int,
        fixed: int | None = None,
        *,
        chains: bool = False,
        narrow: bool = False,
    ) -> None:
        self._siblings, self.deepest = siblings, deepest
        self.fixed = 1 if chains else fixed
        self.candidates = 1 if narrow else None

    def of_text(self) -> TreesOfText:
        """For a text that begins."""
        return TreesOfText(self, OfText(self._siblings))


class TreesOfText:
    """Its shapes, by what it has shown."""

    def __init__(self, trees: Trees, siblings: OfText) -> None:
        self._trees, self._siblings = trees, siblings

    def levels(self, nodes: int) -> tuple[Level, ...]:
        """Of at most so many nodes."""
        trees = self._trees
        if trees.fixed is not None:
            return chain_of(trees.fixed, nodes)[: trees.deepest]
        return levels(nodes, self._chances(), trees.deepest)

    def worths(self, nodes: int) -> tuple[tuple[float, int], ...] | None:
        """Tokens that each node is worth, and its level; None where they are told by position."""
        return None if self._trees.fixed is not None else worths(nodes, self._chances(), self._trees.deepest)

    def _chances(self) -> tuple[float, ...]:
        return self._siblings.chances[: self._trees.candidates]

    def learn(self, tokens: Sequence[int], drafted: Proposal | None, scores: Scores | None) -> None:
        """The text went on by `tokens` when `drafted` was, or was not, what the target scored.

        Certain drafts have no part in how a text goes on, so what would have been kept of them is seen anyway.
        """
        if drafted is None or scores is None:
            return
        if scores.proposal is drafted or not any(law is not None for law in drafted.laws):
            self.saw(tokens, drafted)

    def saw(self, tokens: Sequence[int], drafted: Proposal) -> None:
        """The same, where that counts."""
        below: dict[int, list[int]] = {}
        for node, parent in enumerate(drafted.parents.tolist()):
            below.setdefault(parent, []).append(node)
        here, ids = ROOT, drafted.tokens.tolist()
        for token in tokens:
            places = below.get(here)
            if not places:
                return
            kept = next((number for number, node in enumerate(places) if ids[node] == token), None)
            self._siblings.saw(len(places), kept)
            if kept is None:
                return
            here = places[kept]
