"""The target's p at the nodes of a proposal, transformed when a verifier looks and never before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.protocol import ROOT, Floats, Law, Proposal, Scores
from truedraw.sampling.law import log_probability


class LawRows:
    """protocol.Rows of one sample in one round. Most rounds end early, so most rows are never asked for."""

    def __init__(self, law: Law, proposal: Proposal, scores: Scores) -> None:
        self._proposal, self._logits = proposal, scores.logits
        self._laws: dict[int, Law] = {0: law}
        self._known: dict[int, Floats] = {}

    def __getitem__(self, row: int) -> Floats:
        if row not in self._known:
            self._known[row] = self._law(row)(self._logits[row])
        return self._known[row]

    def law_after(self, tokens: Sequence[int]) -> Law:
        """The law once the tokens of a verdict stand there."""
        row = self._rows_of(tokens)[-1]
        return self._law(row).after(tokens[-1], self[row])

    def logprobs(self, tokens: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Natural logs of the probabilities of an emitted text, before and after the transforms."""
        pairs = list(zip(self._rows_of(tokens), tokens, strict=True))
        before = tuple(log_probability(self._logits[row], token) for row, token in pairs)
        return before, tuple(float(np.log(self[row][token])) for row, token in pairs)

    def _law(self, row: int) -> Law:
        if row not in self._laws:
            above, token = 1 + int(self._proposal.parents[row - 1]), int(self._proposal.tokens[row - 1])
            self._laws[row] = self._law(above).after(token, self[above])
        return self._laws[row]

    def _rows_of(self, tokens: Sequence[int]) -> list[int]:
        rows, here = [0], np.array([ROOT])
        for token in tokens[:-1]:  # equal siblings are one text: any of them may have the next node below it
            here = np.flatnonzero(np.isin(self._proposal.parents, here) & (self._proposal.tokens == token))
            rows.append(1 + int(here[0]))
        return rows
