"""What was scored in a round, for drafters that read the rows: which node a row follows, and which nodes were kept."""

from __future__ import annotations

from collections.abc import Iterable

from truedraw.protocol import ROOT, Proposal, Scores


class ScoredTree:
    """The nodes that have a row: row 0 follows the committed text, row 1 + i node i.

    It is the proposal that the scores name, which may be a part of the drafter's own, have forced tokens in front, or
    be another drafter's. Scores that name none are those of `own`, and rows may be missing at its end.
    """

    def __init__(self, scores: Scores, own: Proposal) -> None:
        proposal = own if scores.proposal is None else scores.proposal
        num = min(len(proposal), len(scores.logits) - 1)
        self.tokens: list[int] = proposal.tokens[:num].tolist()
        self.parents: list[int] = proposal.parents[:num].tolist()
        self._nodes = {edge: node for node, edge in enumerate(zip(self.parents, self.tokens, strict=True))}

    def __len__(self) -> int:
        return len(self.tokens)

    def child(self, node: int, token: int) -> int | None:
        """The child of a node (ROOT: of the text) with this token."""
        return self._nodes.get((node, token))

    def path(self, tokens: Iterable[int]) -> list[int]:
        """The nodes that spell the beginning of `tokens` behind the text, as far as there are any."""
        nodes: list[int] = []
        for token in tokens:
            child = self.child(nodes[-1] if nodes else ROOT, token)
            if child is None:
                break
            nodes.append(child)
        return nodes
