"""The middle model's law at the nodes of what its own drafter proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truedraw.draft.growing import sureness
from truedraw.draft.knobs import GREEDY, Knobs
from truedraw.draft.vocabulary import Vocabulary
from truedraw.errors import BadParameter
from truedraw.protocol import ROOT, Engine, Floats, Law, Logits, Proposal
from truedraw.sampling.law import one_hot


@dataclass(frozen=True, slots=True)
class Middle:
    """The model in the middle and how it drafts, `method` of knobs.METHODS, for a target of `vocab_size` rows."""

    engine: Engine
    vocabulary: Vocabulary
    vocab_size: int
    knobs: Knobs
    method: str
    passes: int | None  # a round at most

    def q(self, law: Law, logits: Logits) -> Floats:
        """[vocab]; what a greedy draft is drawn from is certain."""
        q = law(logits)
        return one_hot(int(q.argmax()), self.vocab_size) if self.method == GREEDY else q


class MiddleRows:
    """protocol.Rows: q [vocab] behind each node; logits [1 + nodes, rows of the middle model].

    Where the draft has to end, because the settings say so or the middle model rules out all that the law allows, the
    rows still hold a law, and the chain is cut there afterwards: that depends on what stands before the place alone.
    """

    def __init__(self, middle: Middle, law: Law, proposal: Proposal, logits: Logits) -> None:
        self._middle, self._proposal, self._logits = middle, proposal, logits
        self.vocab_size = middle.vocab_size
        self._laws: dict[int, Law] = {0: law}
        self._known: dict[int, Floats] = {}
        self._impossible: set[int] = set()

    def __getitem__(self, row: int) -> Floats:
        if row not in self._known:
            try:
                self._known[row] = self._middle.q(self.law(row), self._row(row))
            except BadParameter:
                self._impossible.add(row)
                self._known[row] = one_hot(0, self.vocab_size)
        return self._known[row]

    def ends(self, row: int) -> bool:
        """Whether nothing may be drafted from this row."""
        self[row]
        return row in self._impossible or self._middle.knobs.ends(self._row(row))

    def sure(self, row: int) -> float:
        """How far the likeliest token leads."""
        return sureness(self._row(row))

    def law(self, row: int) -> Law:
        """What makes q of the row."""
        if row not in self._laws:
            parent, token = int(self._proposal.parents[row - 1]), int(self._proposal.tokens[row - 1])
            self._laws[row] = self.law(1 + parent).after(token)
        return self._laws[row]

    def places(self, tokens: Sequence[int]) -> list[int]:
        """The row that each token of a verdict was drawn from; equal siblings are one text."""
        rows, here = [0], [ROOT]
        parents, ids = self._proposal.parents.tolist(), self._proposal.tokens.tolist()
        for token in tokens[:-1]:
            here = [node for node, parent in enumerate(parents) if parent in here and ids[node] == token]
            rows.append(1 + here[0])
        return rows

    def _row(self, row: int) -> Logits:
        return self._middle.vocabulary.row(self._logits[row])
