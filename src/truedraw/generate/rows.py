"""The target's p at the nodes of a proposal, transformed when a verifier looks and never before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.protocol import ROOT, Floats, Law, Proposal, Scores
from truedraw.sampling.law import log_probability


class LawRows:
    """protocol.Rows of one sample in one round. Most rounds end early, so most rows are never asked for."""

    def __init__(self, law: Law, text: Sequence[int], proposal: Proposal, scores: Scores) -> None:
        self._law, self._text = law, text
        self._proposal, self._logits = proposal, scores.logits
        self._known: dict[int, Floats] = {}

    def __getitem__(self, row: int) -> Floats:
        if row not in self._known:
            prefix = Extended(self._text, self._path(row))
            self._known[row] = self._law(self._logits[row], prefix)
        return self._known[row]

    def logprobs(self, tokens: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Natural logs of the probabilities of an emitted text, before and after the transforms."""
        rows = self._rows_of(tokens)
        before = tuple(log_probability(self._logits[row], token) for row, token in zip(rows, tokens, strict=True))
        after = tuple(float(np.log(self[row][token])) for row, token in zip(rows, tokens, strict=True))
        return before, after

    def _path(self, row: int) -> list[int]:
        path, node = [], row - 1
        while node != ROOT:
            path.append(int(self._proposal.tokens[node]))
            node = int(self._proposal.parents[node])
        return path[::-1]

    def _rows_of(self, tokens: Sequence[int]) -> list[int]:
        rows = [0]
        for token in tokens[:-1]:
            below = (self._proposal.parents == rows[-1] - 1) & (self._proposal.tokens == token)
            rows.append(1 + int(np.flatnonzero(below)[0]))
        return rows


class Extended(Sequence[int]):
    """A text and what a draft would add to it, joined without copying the text."""

    def __init__(self, text: Sequence[int], more: Sequence[int]) -> None:
        self._text, self._more = text, more

    def __len__(self) -> int:
        return len(self._text) + len(self._more)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._text[place] if place < len(self._text) else self._more[place - len(self._text)]
