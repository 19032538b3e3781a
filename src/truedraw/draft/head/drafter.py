"""A head trained on the target's hidden states as drafter (method "head"; cell.py has the network and its sources).

The target's pass leaves its hidden states with every row it scores. When a round ends, the row that the last token was
drawn from is known: its states and that token are all that the head needs to say what follows. All texts draft
together, one call of the network a level of the tree.

q is the target's law applied to the head's logits, or a law of its own (knobs.py), on the tokens that the head knows;
all others have probability 0. A token's law is the very one it was drawn from, siblings without replacement. How tokens
are drawn under which rule is as in model.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.growing import Draws
from truedraw.draft.growth import Growth, Place
from truedraw.draft.head.cell import Cell, States
from truedraw.draft.head.reading import Reading, features_behind
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import sample_method
from truedraw.draft.siblings import Known, Settled, Trees
from truedraw.draft.site import Models, unrolls
from truedraw.draft.tempering import OwnLaw, Tempering
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import Law, Logits, Proposal, Randomness, Scores, SparseLaw
from truedraw.sampling.ranges import Wholes

DEEPEST = 6  # levels
FEWEST_ROWS = 2  # of a call: a lone row takes longer than two


class HeadState:
    """protocol.DraftState: what the target knew when it drew the last token, that token, and the law behind it."""

    def __init__(self, length: int, law: OwnLaw, last: int, trees: Trees, reading: Reading) -> None:
        self.length, self.law, self.last = length, law, last
        self.features: NDArray[np.float32] | None = None
        self.drafted: Proposal | None = None
        self._trees, self._reading = trees, reading
        self._said: Logits | None = None  # by the head behind the text, where that is to be learnt from

    def hear(self, logits: Logits) -> None:
        """The head says logits [known] here."""
        if self.law.is_due():
            self._said = np.array(logits)

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """The text goes on; without the target's hidden states nothing can be drafted until the next round."""
        said, self._said = self._said, None
        if said is not None and scores is not None:
            reading = self._reading
            self.law.learn(scores.logits[0], lambda law: reading.weights(said, law), reading.tokens)
        self._trees.learn(tokens, self.drafted, scores)
        self.features = None if scores is None else features_behind(tokens, scores)
        self.drafted = None
        self.length, self.law, self.last = self.length + len(tokens), self.law.after(tokens), int(tokens[-1])


class HeadDrafter:
    """protocol.Drafter for the target `models.target`, whose engine returns hidden states of the head's layers.

    head_path: a file of `truedraw train draft`; None: the one that the model was loaded for, see `load`.
    head_depth: levels of the tree at most. `siblings`: what is known of how often candidates are kept. `trees`: whether
    the rule takes more than chains. Raises BadParameter and BadFile.
    """

    def __init__(  # noqa: PLR0913 - what a run gives, all but the first by name
        self,
        vocab_size: int,
        *,
        models: Models,
        head_path: str | Path | None = None,
        head_depth: int = DEEPEST,
        knobs: Knobs | None = None,
        coupled: bool = False,
        trees: bool = False,
        tempering: Tempering | None = None,
        siblings: Known = Settled,
    ) -> None:
        Wholes(1, "1 or more").check("head_depth", head_depth)
        head, own = models.head(head_path), knobs or Knobs()
        known, narrow = siblings(head.siblings), unrolls(models.target)
        shapes = Trees(known, head_depth, own.draft_siblings, chains=not trees, narrow=narrow)
        self._set(head.cell, shapes, vocab_size, own, coupled)
        self._tempering = tempering

    @classmethod
    def over(
        cls, cell: Cell, trees: Trees, vocab_size: int, knobs: Knobs | None = None, coupled: bool = False
    ) -> HeadDrafter:
        """Over a network that exists."""
        drafter = cls.__new__(cls)
        drafter._set(cell, trees, vocab_size, knobs or Knobs(), coupled)
        drafter._tempering = None
        return drafter

    def _set(self, cell: Cell, trees: Trees, vocab_size: int, knobs: Knobs, coupled: bool) -> None:
        self._cell, self._trees, self._reading, self._knobs = cell, trees, Reading(cell.tokens, vocab_size), knobs
        self.method = sample_method(knobs, coupled)

    def worths(self, nodes: int) -> Sequence[tuple[float, int]] | None:
        """protocol.Shapes: tokens that each of so many nodes is worth, and its level."""
        return self._trees.worths(nodes)

    def open(self, tokens: Sequence[int], law: Law) -> HeadState:
        """Nothing is drafted before the target's first pass over the text."""
        own = OwnLaw.of(law, self._knobs, self._tempering)
        return HeadState(len(tokens), own, int(tokens[-1]), self._trees, self._reading)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A tree of at most `budget` tokens a state; one call a level for all of them."""
        growths = [
            Growth(() if state.features is None else self._trees.levels(budget), state.law.now())
            for state, budget in zip(states, budgets, strict=True)
        ]
        live = [i for i, growth in enumerate(growths) if growth.wanted()]
        if live:
            self._grow([growths[i] for i in live], [states[i] for i in live], [randomness[i] for i in live])
        for state, growth in zip(states, growths, strict=True):
            state.drafted = growth.ended()
        return [state.drafted for state in states]

    def _grow(self, growths: Sequence[Growth], states: Sequence[HeadState], chances: Sequence[Randomness]) -> None:
        draws = [Draws(self.method, chance, state.length) for state, chance in zip(states, chances, strict=True)]
        features = np.stack([state.features for state in states if state.features is not None])
        here, logits = self._call(self._cell.begin, features, [state.last for state in states])
        for state, row in zip(states, logits, strict=False):  # a lone row may have brought its double
            state.hear(row)
        rows = [[number] for number in range(len(states))]  # of each text, those of the places to be drawn at
        while True:
            for growth, own, draw in zip(growths, rows, draws, strict=True):
                if places := growth.wanted():
                    growth.grow([self._q(logits[row], place) for row, place in zip(own, places, strict=True)], draw)
            wanted = [growth.wanted() for growth in growths]
            above = [own[place.row] for own, places in zip(rows, wanted, strict=True) for place in places]
            if not above:
                return
            here, logits = self._call(
                self._cell.step, here[above], [place.token for places in wanted for place in places]
            )
            rows = numbered([len(places) for places in wanted])

    def _q(self, logits: Logits, place: Place) -> SparseLaw | None:
        """The law to draw from, on what the head knows; None where there is nothing to draw."""
        if self._knobs.ends(logits):
            return None
        try:
            return self._reading.law(logits, place.law)
        except (BadParameter, EngineError):  # the law rules out all that the head knows, or its logits are no numbers
            return None

    def _call(self, network: Any, given: NDArray[np.float32], tokens: Sequence[int]) -> tuple[States, Logits]:
        """One call; a lone row brings its double."""
        ids = np.array(tokens, np.int64)
        if len(ids) < FEWEST_ROWS:
            given, ids = np.repeat(given, FEWEST_ROWS, axis=0), np.repeat(ids, FEWEST_ROWS)
        found: tuple[States, Logits] = network(given, ids)
        return found


def numbered(counts: Sequence[int]) -> list[list[int]]:
    """Row numbers of parts of these sizes, one behind the other."""
    ends = list(accumulate(counts, initial=0))
    return [list(range(start, end)) for start, end in pairwise(ends)]
