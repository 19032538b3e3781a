"""A head and counts of n-grams as one drafter, with one q (method "head-ngram"; head/ and ngram_lm.py are its parts).

A head knows what its target would say next, but no names of a prompt and no phrase that a text repeats; counts know
these, and little else. At each place of a tree their laws are mixed, (1 - w) q_head + w q_counts (linear interpolation:
Jelinek and Mercer 1980), and the target's law, or a law of the draft's own (knobs.py), is applied to the logarithm of
that as to any draft model's logits: at T = 1 this is the mixture of both laws, and at lower T what is likeliest in it
gains. Every token is drawn from just this q, candidates at one place from it without replacement.

w depends on how many of the last tokens the running texts had before (head_ngram_weights.py) and on nothing that the
round draws. Where counts know nothing, and for the shape of its trees, this is the head's drafter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from truedraw.draft.growth import Place as Growing
from truedraw.draft.head.drafter import DEEPEST, HeadDrafter
from truedraw.draft.head.state import HeadState
from truedraw.draft.head_ngram_blend import Blender
from truedraw.draft.head_ngram_weights import GRID, Fixed, Weights
from truedraw.draft.knobs import Knobs
from truedraw.draft.ngram_lm_counts import MOST_ORDER
from truedraw.draft.ngram_lm_source import Counted, Place
from truedraw.draft.ngram_lm_texts import CountedTexts
from truedraw.draft.siblings import Known, Settled
from truedraw.draft.site import Models
from truedraw.draft.suffix_settings import TEXT
from truedraw.draft.tempering import Tempering, overlap
from truedraw.protocol import ROOT, Law, Logits, Proposal, Randomness, Scores, SparseLaw


class Parts(NamedTuple):
    """What all texts of a drafter share."""

    texts: CountedTexts
    blender: Blender
    weights: Weights


class Heard(NamedTuple):
    """What both say behind a text, where their weights are to be learnt from."""

    matched: int
    said: Logits  # [known] by the head
    counted: Counted


class HeadNgramState:
    """protocol.DraftState: the head's, and where the text stands in the counts."""

    def __init__(self, head: HeadState, place: Place, parts: Parts) -> None:
        self.dozes = head.dozes  # see protocol.Dozes
        self.head, self._place, self._parts = head, place, parts
        self._reached = [place]  # behind the nodes of the level that is drawn at
        self._heard: Heard | None = None

    def reach(self, places: Sequence[Growing]) -> list[Place]:
        """Where the next level of the tree is drawn at, in the counts."""
        above = [self._place] if places[0].node == ROOT else self._reached
        self._reached = self._parts.texts.source.reached(above, places)
        return self._reached

    def hear(self, matched: int, said: Logits, counted: Counted) -> None:
        """What the head says [known] and the counts say behind the text, where so many tokens match."""
        self._heard = Heard(matched, np.array(said), counted)

    def worths(self, nodes: int) -> Sequence[tuple[float, int]] | None:
        """protocol.Shapes: tokens that each of so many nodes is worth, and its level."""
        return self.head.worths(nodes)

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """The text goes on."""
        heard, self._heard = self._heard, None
        if heard is not None and scores is not None:
            self._learn(heard, scores.logits[0])
        self.head.commit(tokens, scores)
        self._place = self._parts.texts.written(self._place, tokens)

    def close(self) -> None:
        """The text has ended."""
        self.head.close()

    def _learn(self, heard: Heard, logits: Logits) -> None:
        """The target says logits [vocab] where `heard` was."""
        rows = [self._parts.blender.row(heard.said, heard.counted, weight) for weight in GRID]
        p, law = self.head.law.target(logits), self.head.law.now()
        overlaps = [overlap(p[row.reading.tokens], law, partial(row.reading.weights, row.logits)) for row in rows]
        self._parts.weights.saw(heard.matched, np.array(overlaps))


class HeadNgramDrafter:
    """protocol.Drafter for the target `models.target`; settings as of HeadDrafter and NgramLMDrafter.

    `blending`: what is known of the weights of the counts, which then are learnt; None: they stay as measured. Raises
    BadParameter and BadFile.
    """

    def __init__(  # noqa: PLR0913 - what a run gives, all but the first by name
        self,
        vocab_size: int,
        *,
        models: Models,
        head_path: str | Path | None = None,
        head_depth: int = DEEPEST,
        refit: bool = False,
        ngram_lm_order: int = MOST_ORDER,
        ngram_lm_path: str | Path | None = None,
        ngram_lm_online: str = TEXT,
        knobs: Knobs | None = None,
        coupled: bool = False,
        trees: bool = False,
        tempering: Tempering | None = None,
        siblings: Known = Settled,
        blending: Weights | None = None,
    ) -> None:
        texts = CountedTexts(
            vocab_size, order=ngram_lm_order, path=ngram_lm_path, online=ngram_lm_online, models=models
        )
        head = HeadDrafter(
            vocab_size, models=models, head_path=head_path, head_depth=head_depth, knobs=knobs, coupled=coupled,
            trees=trees, tempering=tempering, siblings=siblings, refit=refit,
        )  # fmt: skip
        self._set(head, texts, blending)

    @classmethod
    def over(cls, head: HeadDrafter, texts: CountedTexts, weights: Weights | None = None) -> HeadNgramDrafter:
        """Over parts that exist."""
        drafter = cls.__new__(cls)
        drafter._set(head, texts, weights)
        return drafter

    def _set(self, head: HeadDrafter, texts: CountedTexts, weights: Weights | None) -> None:
        blender = Blender(head.reading.tokens, head.reading.vocab_size)
        self._head, self._parts = head, Parts(texts, blender, weights or Fixed())

    def open(self, tokens: Sequence[int], law: Law) -> HeadNgramState:
        """A text behind its prompt, which is counted; nothing is drafted before the target's first pass over it."""
        return HeadNgramState(self._head.open(tokens, law), self._parts.texts.place(tokens), self._parts)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A tree of at most `budget` tokens a state; one call of the head a level for all of them."""
        laws = partial(self._laws, states, self._parts.weights.now())
        return self._head.draft([state.head for state in states], budgets, randomness, laws)

    def _laws(
        self, states: Sequence[HeadNgramState], weights: Sequence[float], number: int, places: Sequence[Growing],
        rows: Sequence[Logits],
    ) -> list[SparseLaw | None]:  # fmt: skip
        """To draw from at places of one text, whose number comes first; the head says rows [places][known]."""
        state = states[number]
        spots = state.reach(places)
        return [self._law(state, weights, *each) for each in zip(places, spots, rows, strict=True)]

    def _law(
        self, state: HeadNgramState, weights: Sequence[float], place: Growing, spot: Place, said: Logits
    ) -> SparseLaw | None:
        source = self._parts.texts.source
        matched = source.matched(spot)
        weight, is_due = weights[matched], place.node == ROOT and self._parts.weights.due(matched)
        counted = source.counted(spot) if weight or is_due else None
        row = self._parts.blender.row(said, counted, weight)
        if place.node == ROOT:
            state.head.hear(row.reading, row.logits)
        if is_due and counted is not None:
            state.hear(matched, said, counted)
        found = self._head.law(row.reading, row.logits, place)
        if found is None and not weight:  # it may be that the law rules out all that the head knows
            row = self._parts.blender.row(said, source.counted(spot), GRID[1])
            found = self._head.law(row.reading, row.logits, place)
        return found
