"""Guesses: what a proposal is, and what makes them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

import numpy as np

from truedraw.protocol.arrays import ROOT, Floats, Ints
from truedraw.protocol.randomness import Randomness

if TYPE_CHECKING:
    from truedraw.protocol.engine import Scores
    from truedraw.protocol.law import Law


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseLaw:
    """A law under which few of `vocab_size` tokens can come, not written out over all of them."""

    tokens: Ints  # [support], rising
    weights: Floats  # [support], at least 0, sum 1
    vocab_size: int

    def __getitem__(self, token: int) -> float:
        """Its probability; raises IndexError outside the vocabulary."""
        if not 0 <= token < self.vocab_size:
            raise IndexError(f"got token {token}; the law is over tokens 0 to {self.vocab_size - 1}")
        place = self.tokens.searchsorted(token)
        return float(self.weights[place]) if place < len(self.tokens) and self.tokens[place] == token else 0.0

    def dense(self) -> Floats:
        """[vocab]."""
        law = np.zeros(self.vocab_size)
        law[self.tokens] = self.weights
        return law


DraftLaw = Floats | SparseLaw
"""q, as a vector [vocab] or as what is not 0 of it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A tree of draft tokens in topological order: a parent stands before its children, siblings in the order in which
    they were drawn. Whether a node is there, and its law, may depend on any token drawn before its own, never on that.

    `confidence[i]` is the drafter's own opinion of how likely node i is kept once its parent was. It need not be right,
    a controller learns what it is worth, but for a token with a law it must be known before that token is drawn.
    """

    tokens: Ints  # [n]
    parents: Ints  # [n]; ROOT (-1) = follows the committed text, else the index of an earlier node
    laws: tuple[DraftLaw | None, ...]  # n times: q of node i given its parent and its earlier siblings; None = certain
    confidence: Floats | None = None  # [n] in (0, 1), see below; None = the drafter has no opinion
    checked: int = field(default=0, init=False, repr=False, compare=False)
    """For a target of how many tokens it was found sound by the guard of a built-in drafter; 0 = look at it."""

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def chain(
        cls, tokens: Iterable[int], laws: Seq[DraftLaw | None] | None = None, confidence: Floats | None = None
    ) -> Proposal:
        """Each token follows the one before; without laws every token is certain (a point mass).

        Raises TypeError for what is no whole number.
        """
        ids = np.asarray(list(map(index, tokens)), dtype=np.int64)
        given = (None,) * len(ids) if laws is None else tuple(laws)
        return cls(ids, np.arange(-1, len(ids) - 1, dtype=np.int64), given, confidence)

    def only(self, nodes: Ints) -> Proposal:
        """Without the other nodes; `nodes` rise and hold the parent of each of them."""
        if len(nodes) == len(self):
            return self
        place = np.full(len(self) + 1, ROOT, dtype=np.int64)  # its last entry is that of ROOT
        place[nodes] = np.arange(len(nodes))
        confidence = None if self.confidence is None else self.confidence[nodes]
        laws = tuple(self.laws[node] for node in nodes.tolist())
        part = Proposal(self.tokens[nodes], place[self.parents[nodes]], laws, confidence)
        object.__setattr__(part, "checked", self.checked)
        return part


NOTHING = Proposal.chain(())
"""The empty proposal: its round is one step of plain sampling."""


@runtime_checkable
class DraftState(Protocol):
    """A drafter's memory of one text."""

    def commit(self, tokens: Seq[int], scores: Scores) -> None:
        """Append `tokens`, the end of a round, to the text.

        `scores` is what the target said in that round: its rows are those of `scores.proposal`, which may be another
        drafter's, may lack some of the nodes that this one proposed, and may begin with tokens that had to come.
        """
        ...


@runtime_checkable
class Dozes(Protocol):
    """A draft state that needs to hear what was written only before it is asked again. Optional.

    Where nobody is going to be asked for some rounds, `commit` gets their tokens at once and no scores. The round
    before a proposal comes with its scores, but for a text that had to wait in between.
    """

    dozes: bool

    def commit(self, tokens: Seq[int], scores: Scores | None = None) -> None:
        """See DraftState."""
        ...


@runtime_checkable
class HearsHidden(Protocol):
    """A draft state that reads nothing but hidden states of the scores of a round in which it drafted nothing: logits
    may be those of a later one. Optional.
    """

    @property
    def hears_hidden(self) -> bool:
        """Whether it is so."""
        ...


@runtime_checkable
class LooksAhead(Protocol):
    """A draft state that can also guess behind tokens which are certain to come but not yet scored. Optional."""

    def ahead(self, tokens: Seq[int]) -> DraftState:
        """The state of the text with `tokens` behind it, for one proposal; this state stays as it is."""
        ...


@runtime_checkable
class Drafter(Protocol):
    """Guesses. May look at anything except the value of a token it is about to drop (algorithm L2)."""

    def open(self, tokens: Seq[int], law: Law) -> DraftState:
        """Start on a text of at least one token; `law` is the target's after it, for drafters that draw under it."""
        ...

    def propose(self, states: Seq[DraftState], budgets: Seq[int], randomness: Seq[Randomness]) -> list[Proposal]:
        """One proposal a state, of at most `budget` draft tokens; the empty one is always allowed."""
        ...


@runtime_checkable
class Shapes(Protocol):
    """A draft state that knows what the next proposal is worth before it is drawn. Optional."""

    def worths(self, nodes: int) -> Seq[tuple[float, int]] | None:
        """Tokens that each further node of a proposal brings, falling, and its level, from 1; None: it cannot tell."""
        ...
