"""What the tests of the mix share: sources over tables that draw, or are certain, and mixes of them."""

from __future__ import annotations

import numpy as np

from known_laws import Scenario, TableDrafter, random_table
from truedraw.draft.mix import MixDrafter
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.suffix import SuffixDrafter
from truedraw.protocol import ROOT, Proposal, Purpose
from truedraw.testing.trees import SHAPES, TreeDrafter

VOCAB = 3
QUARTERS = Scenario(
    "in quarters",
    {(): [0.5, 0.25, 0.25], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.75, 0.0], (2,): [0.5, 0.0, 0.5]},
    {(): [0.25, 0.25, 0.5], (0,): [0.5, 0.25, 0.25], (1,): [0.25, 0.5, 0.25], (2,): [0.25, 0.0, 0.75]},
    draft_tokens=4,
    max_tokens=3,
)
"""Laws that the oracle of shared noise can draw exactly."""


class Likeliest(TableDrafter):
    """A certain chain of a table's likeliest tokens, with the table's opinion of them."""

    def chain(self, state, budget, randomness):
        tokens, chances = [], []
        for _ in range(budget):
            q = self.law_after(state, [*state.text, *tokens])
            tokens.append(int(q.argmax()))
            chances.append(float(q.max()))
        return Proposal.chain(tokens, None, np.array(chances))


class Every(TableDrafter):
    """Every token as a certain one, each with a chain of token 0 behind it: siblings, and more than fits."""

    def chain(self, state, budget, randomness):
        tokens, parents = [], []
        for token in range(VOCAB):
            tokens += [token, 0]
            parents += [ROOT, len(tokens) - 2]
        tokens, parents = tokens[:budget], parents[:budget]
        return Proposal(np.array(tokens, np.int64), np.array(parents, np.int64), (None,) * len(tokens))


class Coupled(TableDrafter):
    """Draws with the target's noise, and hands over what it drew as certain tokens."""

    def chain(self, state, budget, randomness):
        tokens = []
        for _ in range(budget):
            text = [*state.text, *tokens]
            tokens.append(randomness.choose(self.law_after(state, text), Purpose.TARGET, len(text)))
        return Proposal.chain(tokens)


class LookedUpThenDrawn(TableDrafter):
    """Token 0 as a certain one, then draws, as long as these are not 0."""

    def chain(self, state, budget, randomness):
        tokens, laws = [0], [None]
        while len(tokens) < budget and (len(tokens) == 1 or tokens[-1]):
            q = self.law_after(state, [*state.text, *tokens])
            tokens.append(randomness.choose(q, Purpose.DRAFT, len(state.text), len(tokens)))
            laws.append(q)
        return Proposal.chain(tokens[:budget], laws[:budget])


class Hesitating(TableDrafter):
    """Draws, and goes on only behind token 0: as long as its own tokens say."""

    def chain(self, state, budget, randomness):
        whole = super().chain(state, budget, randomness)
        end = next((i + 1 for i, token in enumerate(whole.tokens.tolist()) if token), len(whole))
        return Proposal.chain(whole.tokens[:end].tolist(), whole.laws[:end])


SOURCES = {
    "q": lambda: TableDrafter(random_table(VOCAB, 1, 61)),
    "r": lambda: TableDrafter(random_table(VOCAB, 1, 62)),
    "hesitating": lambda: Hesitating(random_table(VOCAB, 1, 63)),
    "hesitating too": lambda: Hesitating(random_table(VOCAB, 1, 63)),
    "looked up, then drawn": lambda: LookedUpThenDrawn(random_table(VOCAB, 1, 67)),
    "siblings": lambda: TreeDrafter(random_table(VOCAB, 1, 64), SHAPES[2]),
    "paths": lambda: TreeDrafter(random_table(VOCAB, 1, 64), SHAPES[1]),
    "both": lambda: TreeDrafter(random_table(VOCAB, 1, 64), SHAPES[3]),
    "likeliest": lambda: Likeliest(random_table(VOCAB, 1, 65)),
    "other": lambda: Likeliest(random_table(VOCAB, 1, 66)),
    "every": lambda: Every(random_table(VOCAB, 0, 0)),
    "noisy": lambda: Coupled(QUARTERS.draft),
    "noisy too": lambda: Coupled(QUARTERS.draft),
    "ngram": NgramDrafter,
    "suffix": lambda: SuffixDrafter(suffix_decoding_tree=True, suffix_decoding_max_spec_factor=4.0),
}


def inner(config):
    """draft.site.Inner over these sources; a mapping is a mix in the mix."""
    return mix(*config["sources"]) if isinstance(config, dict) else SOURCES[config]()


def mix(*sources, **settings) -> MixDrafter:
    return MixDrafter(inner, sources=list(sources), **settings)
