"""A target that shows hidden states drawn from the text before them, and rounds over it."""

from __future__ import annotations

import numpy as np

from engine.decoder import softmax
from truedraw.protocol import NOTHING, ROOT, Proposal, Scores, TextRows
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening

TREE = (((0, 2),), ((0, 2), (1, 1)), ((1, 1), (2, 1)))  # 7 nodes over three levels
NODES, TEMPERATURE = 7, 0.8
CLOSE = 2e-4  # total variation
ROUGH = 0.12  # of int8 matrices and activations, over random numbers


def law(vocab: int, **params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0,), vocab))


def text(length: int, vocab: int, seed: int = 0) -> list[int]:
    return np.random.default_rng([seed, length]).integers(0, vocab, length).tolist()


class Shown:
    """Hidden states [streams + 1, width] of a text's last token."""

    def __init__(self, streams: int, width: int) -> None:
        self.size = streams + 1, width

    def __call__(self, tokens) -> np.ndarray:
        return np.random.default_rng([7, *tokens]).normal(size=self.size).astype(np.float32) * 2

    def rows(self, tokens) -> np.ndarray:
        """Of every token."""
        return np.stack([self(tokens[: end + 1]) for end in range(len(tokens))])

    def scores(self, tokens, proposal: Proposal, first: int | None = None) -> Scores:
        """Of a proposal behind a text; `first`: with the text's own rows from there on."""
        paths = [list(tokens)]
        for token, parent in zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True):
            paths.append([*paths[0 if parent == ROOT else 1 + parent], token])
        hidden = np.stack([self(path) for path in paths])
        rows = () if first is None else (TextRows(first, self.rows(tokens)[first:-1]),)
        return Scores(np.zeros((len(paths), 1), np.float32), hidden, proposal, rows)


def ancestors(proposal: Proposal, node: int) -> list[int]:
    """Tokens from the text to the parent of a node."""
    found: list[int] = []
    while (node := int(proposal.parents[node])) != ROOT:
        found.append(int(proposal.tokens[node]))
    return found[::-1]


class Rounds:
    """Rounds of self.drafter over what self.shown shows in self.streams, against the formulas of self.plain."""

    def start(self, length: int, seed: int = 0, first: int | None = 0):
        """A state after its first round, which drafted nothing."""
        state = self.drafter.open(text(length, self.vocab, seed), law(self.vocab, temperature=TEMPERATURE))
        self.commit(state, [seed % self.vocab], NOTHING, first)
        return state

    def commit(self, state, tokens, proposal, first=None) -> None:
        state.commit(tokens, self.shown.scores(state.tokens, proposal, first))

    def propose(self, states, seed: int = 1):
        chances = [PhiloxRandomness(seed, number) for number in range(len(states))]
        return self.drafter.propose(states, [NODES] * len(states), chances)

    def off(self, state, proposal, first: int = 0) -> float:
        """Largest total variation between a node's law and that of the formulas."""
        hidden, known = self.shown.rows(state.tokens)[first:-1, self.streams], state.tokens[first:]
        worst, drawn = 0.0, {}
        assert len(proposal) == NODES
        for node, q in enumerate(proposal.laws):
            path = ancestors(proposal, node)
            p = softmax(self.plain.logits(hidden, known[1:], path, range(first, first + len(hidden))) / TEMPERATURE)
            before = drawn.setdefault(int(proposal.parents[node]), [])
            p[before] = 0.0
            before.append(int(proposal.tokens[node]))
            worst = max(worst, float(np.abs(q.dense() - p / p.sum()).sum()) / 2)
        return worst

    def worst(self) -> float:
        """Over texts of different lengths in one call, round after round."""
        states, worst = [self.start(length, seed) for seed, length in enumerate((5, 1, 23))], 0.0
        for number in range(3):
            proposals = self.propose(states, seed=number)
            worst = max(worst, *map(self.off, states, proposals))
            for state, proposal in zip(states, proposals, strict=True):
                path = [*ancestors(proposal, NODES - 1), int(proposal.tokens[NODES - 1])][: number + 1]
                self.commit(state, [*path, 3], proposal)
        return worst
