"""A target that shows hidden states drawn from the text before them, and rounds over it."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import ROOT, Proposal, Scores, TextRows
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening

TREE = (((0, 2),), ((0, 2), (1, 1)), ((1, 1), (2, 1)))  # 7 nodes over three levels


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
