"""The places of one text's round: what the head said at each, until the target has said what comes there.

A place is where candidates were drawn. When the round has ended, those along the text as it went on have a row of the
target's; at the last of them, mostly, no candidate was kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from truedraw.draft.growth import Growth
from truedraw.draft.head.cell import Cell, States, shown
from truedraw.draft.head.refit.cell import CorrectedCell, Learner
from truedraw.draft.head.refit.correction import Reals
from truedraw.draft.scored import ScoredTree
from truedraw.protocol import NOTHING, ROOT, Law, Logits, Proposal, Scores
from truedraw.sampling.law import SamplingLaw

COLDEST = 0.3  # a temperature to learn at: at 0 a law has one token, and a loss no slope
PLAIN = 1.0  # that of laws that have none


class Met(NamedTuple):
    """A place, by the node that it is behind, the row of the target's there, and whether no candidate was kept."""

    node: int
    row: int
    is_rejected: bool


class Seen:
    """Of one text; `law` is the target's."""

    def __init__(self, learner: Learner, law: Law) -> None:
        self._learner = learner
        own = law.temperature if isinstance(law, SamplingLaw) else None
        self._temperature = PLAIN if own is None else max(own, COLDEST)
        self._said: dict[int, tuple[Reals, Logits]] = {}

    def note(self, node: int, z: Reals, logits: Logits) -> None:
        """The head's cell shows z [width] behind a node of the proposal, and says logits [known], uncorrected."""
        if node == ROOT:  # a round begins
            self._said.clear()
        if self._learner.listens:
            self._said[node] = z.copy(), logits.copy()

    def ended(self, tokens: Sequence[int], drafted: Proposal | None, scores: Scores | None) -> None:
        """The round of the proposal `drafted` ended with `tokens`."""
        if self._said and drafted is not None and scores is not None:
            for node, row, is_rejected in met(tokens, drafted, scores):
                if node in self._said:
                    target = scores.logits[row]
                    self._learner.saw(self._said[node], target, self._temperature, is_rejected=is_rejected)
        self._said.clear()


def met(tokens: Sequence[int], drafted: Proposal, scores: Scores) -> Iterator[Met]:
    """The places along `tokens` that both the proposal and what was scored have."""
    parents, scored = drafted.parents.tolist(), ScoredTree(scores, NOTHING)
    own = {edge: node for node, edge in enumerate(zip(parents, drafted.tokens.tolist(), strict=True))}
    node, row = ROOT, ROOT
    for token in tokens:
        child, further = own.get((node, token)), scored.child(row, token)
        yield Met(node, 1 + row, child is None and node in parents)
        if child is None or further is None:
            return
        node, row = child, further


def note(
    cell: Cell, states: States, texts: Sequence[tuple[Seen | None, Growth]], rows: Sequence[Sequence[int]]
) -> None:
    """What the cell has said of the places where texts grow next: it returned these states, `rows` of each text."""
    if not isinstance(cell, CorrectedCell):
        return
    z = shown(cell, states)
    for (seen, growth), own in zip(texts, rows, strict=True):
        for row, place in zip(own, growth.wanted() if seen is not None else (), strict=False):
            assert seen is not None
            seen.note(place.node, z[row], cell.raw[row])
