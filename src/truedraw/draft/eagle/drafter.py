"""An EAGLE draft as drafter (method "eagle"; network.py has the network and its sources).

One decoder layer reads the target's hidden states and the token drawn behind each, and goes on with its own states
where the target has said nothing yet. When a round ends, the rows of the tokens that were kept are read anew from what
the target knows of them. All texts draft together, two calls of the network a level of the tree.

EAGLE-2 grows its tree where the *drawn* tokens are likeliest and drops the others, which is biased for samples: here a
tree has its shape before anything is drawn (shape.py), and candidates at one place are drawn without replacement. q is
the target's law applied to the draft's logits, or a law of its own (knobs.py), on the tokens that the draft knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from truedraw.draft.eagle.attention import Memory
from truedraw.draft.eagle.branches import Branches
from truedraw.draft.eagle.network import Asked, Network
from truedraw.draft.eagle.state import EagleState, Unread
from truedraw.draft.growth import Growth
from truedraw.draft.head.reading import Reading
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import sample_method
from truedraw.draft.siblings import Known, Settled
from truedraw.draft.site import Models, unrolls
from truedraw.draft.tempering import OwnLaw, Tempering
from truedraw.draft.trees import Trees
from truedraw.protocol import Ints, Law, Logits, Proposal, Randomness, TextRows
from truedraw.sampling.ranges import Wholes

DEEPEST = 6  # levels
CHUNK_ROWS = 256  # of the text read in one call


class Kept(NamedTuple):
    """Keys and values of rows that texts share, and the tokens behind these rows."""

    tokens: Ints
    keys: Logits
    values: Logits


class EagleDrafter:
    """protocol.Drafter for the target `models.target`, whose engine returns hidden states of the draft's layers.

    eagle_path: a folder with an EAGLE, EAGLE-2 or EAGLE-3 draft; None: the one that the model was loaded for, see
    `load`. eagle_depth: levels of the tree at most. `siblings`: what is known of how often candidates are kept.
    `trees`: whether the rule takes more than chains. Raises BadParameter and BadFile.
    """

    def __init__(  # noqa: PLR0913 - what a run gives, all but the first by name
        self,
        vocab_size: int,
        *,
        models: Models,
        eagle_path: str | Path | None = None,
        eagle_depth: int = DEEPEST,
        knobs: Knobs | None = None,
        coupled: bool = False,
        trees: bool = False,
        tempering: Tempering | None = None,
        siblings: Known = Settled,
    ) -> None:
        Wholes(1, "1 or more").check("eagle_depth", eagle_depth)
        draft, own = models.eagle(eagle_path), knobs or Knobs()
        known, narrow = siblings(draft.siblings), unrolls(models.target)
        shapes = Trees(known, eagle_depth, own.draft_siblings, chains=not trees, narrow=narrow)
        self._set(draft.network, shapes, vocab_size, own, coupled)
        self._tempering = tempering

    @classmethod
    def over(
        cls, network: Network, trees: Trees, vocab_size: int, knobs: Knobs | None = None, coupled: bool = False
    ) -> EagleDrafter:
        """Over a network that exists."""
        drafter = cls.__new__(cls)
        drafter._set(network, trees, vocab_size, knobs or Knobs(), coupled)
        drafter._tempering = None
        return drafter

    def _set(self, network: Network, trees: Trees, vocab_size: int, knobs: Knobs, coupled: bool) -> None:
        self._network, self._trees, self._knobs = network, trees, knobs
        self._reading = Reading(network.tokens, vocab_size)
        self._prompts: WeakKeyDictionary[TextRows, Kept] = WeakKeyDictionary()
        self.method = sample_method(knobs, coupled)

    def open(self, tokens: Sequence[int], law: Law) -> EagleState:
        """Nothing is drafted before the target's first pass over the text."""
        own = OwnLaw.of(law, self._knobs, self._tempering)
        memory = Memory(self._network.kv_heads, self._network.head_dim)
        return EagleState(tokens, own, memory, self._trees.of_text(), self._reading)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A tree of at most `budget` tokens a state; two calls a level for all of them."""
        growths = [
            Growth(state.trees.levels(budget) if state.is_ready else (), state.law.now())
            for state, budget in zip(states, budgets, strict=True)
        ]
        tasks = zip(states, growths, randomness, strict=True)
        live = [Branches(state, growth, chance, self.method) for state, growth, chance in tasks if growth.wanted()]
        if live:
            self._begin(live)
            self._grow(live)
        for state, growth in zip(states, growths, strict=True):
            state.drafted = growth.ended()
        return [state.drafted for state in states]

    def _begin(self, live: Sequence[Branches]) -> None:
        """Read what is new of the texts, and say what follows them."""
        asked = self._read([branch.text for branch in live])
        mixed = [branch.mix_text(row[None]) for branch, row in zip(live, asked.queries, strict=True)]
        self._say(live, np.concatenate(mixed), asked)
        for branch in live:
            branch.text.hear(branch.logits[0])

    def _grow(self, live: Sequence[Branches]) -> None:
        while live:
            for branch in live:
                places = zip(branch.logits, branch.wanted(), strict=True)
                branch.draw([self._reading.offered(row, place.law, self._knobs) for row, place in places])
            live = [branch for branch in live if branch.wanted()]
            if live:
                self._descend(live)

    def _descend(self, live: Sequence[Branches]) -> None:
        """The rows of the next level."""
        states, tokens, places = zip(*[branch.descend() for branch in live], strict=True)
        positions = np.repeat(places, [len(each) for each in tokens])
        asked = self._network.before(np.concatenate(states), np.concatenate(tokens), positions)
        ends = np.cumsum([len(each) for each in tokens])[:-1]
        parts = zip(*[np.split(each, ends) for each in (asked.queries, asked.keys, asked.values)], strict=True)
        mixed = [branch.mix(*part) for branch, part in zip(live, parts, strict=True)]
        self._say(live, np.concatenate(mixed), asked)

    def _say(self, live: Sequence[Branches], mixed: Logits, asked: Asked) -> None:
        states, logits = self._network.after(mixed, asked.residual)
        ends = np.cumsum([branch.rows for branch in live])[:-1]
        for branch, own, said in zip(live, np.split(states, ends), np.split(logits, ends), strict=True):
            branch.states, branch.logits = own, said

    def _read(self, texts: Sequence[EagleState]) -> Asked:
        """Enter all rows that are unread into the memories; what is asked by the last row of each text."""
        for text in texts:
            for rows in text.unread[:-1]:
                text.memory.append(*self._keys(rows))
        lasts = [text.unread[-1] for text in texts]
        asked = self._asked(lasts)
        ends = np.cumsum([len(rows.tokens) for rows in lasts])
        parts = zip(np.split(asked.keys, ends[:-1]), np.split(asked.values, ends[:-1]), strict=True)
        for text, part in zip(texts, parts, strict=True):
            text.memory.append(*part)
            text.unread = []
        return Asked(*(each[ends - 1] for each in asked))

    def _keys(self, rows: Unread) -> tuple[Logits, Logits]:
        """Keys and values of rows; those of a prompt are computed once for all its texts."""
        kept = None if rows.source is None else self._prompts.get(rows.source)
        if kept is None or not np.array_equal(kept.tokens, rows.tokens):
            parts = [self._asked([chunk]) for chunk in chunks(rows)]
            kept = Kept(
                rows.tokens, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "values"))
            )
            if rows.source is not None:
                self._prompts[rows.source] = kept
        return kept.keys, kept.values

    def _asked(self, parts: Sequence[Unread]) -> Asked:
        """Of rows that the target has shown."""
        hidden, positions, tokens = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("hidden", "positions", "tokens")
        )
        return self._network.before(self._network.start(hidden), tokens, positions)


def chunks(rows: Unread) -> list[Unread]:
    """Of at most CHUNK_ROWS."""
    parts = [slice(start, start + CHUNK_ROWS) for start in range(0, len(rows.tokens), CHUNK_ROWS)]
    return [Unread(rows.hidden[part], rows.positions[part], rows.tokens[part]) for part in parts]
