"""A head trained on the target's hidden states as drafter (method "head"; kinds/ has the networks and their sources).

The target's pass leaves its hidden states with every row it scores. When a round ends, the row that the last token was
drawn from is known: its states and that token are all that most heads need to say what follows; one that looks back is
told of all rows that have come. All texts draft together, one call of the network a level of the tree, or one for all
levels where a kind can do that.

q is the target's law applied to the head's logits, or a law of its own (knobs.py), on the tokens that the head knows;
all others have probability 0. A token's law is the very one it was drawn from, siblings without replacement. How tokens
are drawn under which rule is as in model.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.growing import Draws
from truedraw.draft.growth import Growth, Place
from truedraw.draft.head.cell import Cell, memory_of
from truedraw.draft.head.chain import chain, is_chain
from truedraw.draft.head.chain_job import ChainJob, Noise
from truedraw.draft.head.known_rows import MOST, KnownRows
from truedraw.draft.head.levels import Laws, Text, grow
from truedraw.draft.head.reading import Reading
from truedraw.draft.head.refit.cell import learner_of
from truedraw.draft.head.refit.round import Seen
from truedraw.draft.head.state import HeadState
from truedraw.draft.knobs import GREEDY, Knobs
from truedraw.draft.model import sample_method
from truedraw.draft.siblings import Known, Settled
from truedraw.draft.site import Models, runs_chains, unrolls
from truedraw.draft.tempering import OwnLaw, Tempering
from truedraw.draft.trees import Trees
from truedraw.errors import BadParameter
from truedraw.protocol import ROOT, Engine, Law, Logits, Proposal, Randomness, SparseLaw
from truedraw.protocol.slate import Slate
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import shown

DEEPEST = 6  # levels
LISTENING = 2  # texts that miss no row, of a head that looks back: in a batch it would take longer than it is worth


class HeadDrafter:
    """protocol.Drafter for the target `models.target`, whose engine returns hidden states of the head's layers.

    head_path: a file of `truedraw train draft`; None: the one that the model was loaded for, see `load`.
    head_depth: levels of the tree at most. `siblings`: what is known of how often candidates are kept. `trees`: whether
    the rule takes more than chains. refit: go on learning from what is drafted, see refit/. Raises BadParameter and
    BadFile.
    """

    def __init__(  # noqa: PLR0913 - what a run gives, all but the first by name
        self,
        vocab_size: int,
        *,
        models: Models,
        head_path: str | Path | None = None,
        head_depth: int = DEEPEST,
        refit: bool = False,
        knobs: Knobs | None = None,
        coupled: bool = False,
        trees: bool = False,
        tempering: Tempering | None = None,
        siblings: Known = Settled,
    ) -> None:
        Wholes(1, "1 or more").check("head_depth", head_depth)
        if not isinstance(refit, bool):
            raise BadParameter("refit", f"got {shown(refit)}; give true or false")
        head, own = models.head(head_path), knobs or Knobs()
        known, narrow = siblings(head.siblings), unrolls(models.target) or is_run(head.cell, models.target)
        deepest = head_depth if head.levels is None else min(head_depth, head.levels)
        shapes = Trees(known, deepest, own.draft_siblings, chains=not trees, narrow=narrow)
        cell = models.refit(head_path).cell() if refit else head.cell
        self._set(cell, shapes, vocab_size, own, coupled)
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
        self.method, self._learner = sample_method(knobs, coupled), learner_of(cell)
        self._texts: WeakSet[HeadState] = WeakSet()

    @property
    def reading(self) -> Reading:
        """How its own logits are read."""
        return self._reading

    def open(self, tokens: Sequence[int], law: Law) -> HeadState:
        """Nothing is drafted before the target's first pass over the text."""
        own = OwnLaw.of(law, self._knobs, self._tempering)
        state = HeadState(len(tokens), own, KnownRows(memory_of(self._cell)), self._trees.of_text())
        state.seen = None if self._learner is None else Seen(self._learner, law)
        state.dozes = not state.rows.are_remembered or len(self._texts) >= LISTENING
        self._texts.add(state)
        return state

    def job(
        self, state: HeadState, randomness: Randomness, slate: Slate, hidden: NDArray[np.float32] | None
    ) -> ChainJob | None:
        """See protocol.DraftsInRow: of a head that looks back, where nothing is asked of what it says but tokens."""
        calls, noise = getattr(self._cell, "calls", None), Noise.of(randomness, self.method)
        is_simple = self._learner is None and self._knobs.is_endless and self.method != GREEDY
        memory = state.rows.memory
        if calls is None or noise is None or hidden is None or memory is None or not is_simple:
            return None
        if len(slate.last) > MOST:  # rows of a round that are all to be remembered, see KnownRows
            return None
        return ChainJob(state, self._cell, self._reading, noise, slate, hidden)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A tree of at most `budget` tokens a state; one call a level for all of them."""
        return self.draft(states, budgets, randomness, partial(self._laws, states))

    def draft(
        self, states: Sequence[HeadState], budgets: Sequence[int], randomness: Sequence[Randomness], laws: Laws
    ) -> list[Proposal]:
        """The same, from laws that somebody else makes of what the head says."""
        if self._learner is not None:
            self._learner.between_rounds()  # before anything is drawn
        shapes = [
            () if state.rows.features is None else state.trees.levels(budget)
            for state, budget in zip(states, budgets, strict=True)
        ]
        if len(states) == 1 and self._learner is None and is_chain(shapes[0]):
            state, draws = states[0], Draws(self.method, randomness[0], states[0].length)
            state.drafted = chain(self._cell, state.rows, state.law.now(), draws, partial(laws, 0), len(shapes[0]))
            return [state.drafted]
        growths = [Growth(shape, state.law.now()) for state, shape in zip(states, shapes, strict=True)]
        texts = [
            Text(state, growth, Draws(self.method, chance, state.length), partial(laws, number))
            for number, (state, growth, chance) in enumerate(zip(states, growths, randomness, strict=True))
        ]
        if live := [text for text in texts if text.growth.wanted()]:
            grow(self._cell, live)
        proposals = [growth.ended() for growth in growths]
        for state, proposal in zip(states, proposals, strict=True):
            state.drafted = proposal
        return proposals

    def _laws(
        self, states: Sequence[HeadState], number: int, places: Sequence[Place], rows: Sequence[Logits]
    ) -> list[SparseLaw | None]:
        if places[0].node == ROOT:
            states[number].hear(self._reading, rows[0])
        return [self.law(self._reading, row, place) for row, place in zip(rows, places, strict=True)]

    def law(self, reading: Reading, logits: Logits, place: Place) -> SparseLaw | None:
        """To draw from at a place, of logits [known]; None where there is nothing to draw."""
        return reading.offered(logits, place.law, self._knobs)


def is_run(cell: Cell, target: Engine | None) -> bool:
    """Whether compiled code draws its chains beside that engine."""
    return getattr(cell, "calls", None) is not None and runs_chains(target)
