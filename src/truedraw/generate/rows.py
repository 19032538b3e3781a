"""The target's p at the nodes of a proposal, transformed when a verifier looks and never before.

Most verdicts need no p, only tokens drawn from it: those are drawn without writing p down where the law allows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.protocol import ROOT, Floats, Law, Logits, Proposal, Purpose, Randomness, Scores
from truedraw.sampling.drawing import Drawn, RowDraws
from truedraw.sampling.law import log_probability


class LawRows:
    """protocol.DrawingRows of one sample in one round. Most rounds end early, so most rows are never asked for.

    `draws`, and its memory, may serve one round after the other.
    """

    def __init__(self, law: Law, proposal: Proposal, scores: Scores, draws: RowDraws | None = None) -> None:
        self._proposal, self._logits, self.hidden = proposal, scores.logits, scores.hidden
        self._draws = RowDraws() if draws is None else draws
        self._drawn: dict[int, Drawn] = {}
        self.vocab_size = scores.logits.shape[1]
        self._laws: dict[int, Law] = {0: law}
        self._known: dict[int, Floats] = {}

    def __getitem__(self, row: int) -> Floats:
        if row not in self._known:
            self._known[row] = self._law(row)(self._logits[row])
        return self._known[row]

    def draw(self, row: int, randomness: Randomness, purpose: Purpose, position: int, node: int = 0) -> int:
        """randomness.choose(self[row], purpose, position, node)."""
        drawn = self._draws.draw(self._law(row), self._logits[row], randomness, purpose, position, node)
        if drawn is None:
            return randomness.choose(self[row], purpose, position, node)
        self._drawn[row] = drawn
        return drawn.token

    def law_after(self, tokens: Sequence[int]) -> Law:
        """The law once the tokens of a verdict stand there."""
        return self._after(self._rows_of(tokens)[-1], tokens[-1])

    def logprobs(self, tokens: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Natural logs of the probabilities of an emitted text, before and after the transforms."""
        pairs = [self._logs(row, token) for row, token in zip(self._rows_of(tokens), tokens, strict=True)]
        return tuple(before for before, _ in pairs), tuple(after for _, after in pairs)

    def logits(self, tokens: Sequence[int]) -> list[Logits]:
        """The model's rows [vocab] that the tokens of a verdict were drawn from."""
        return [self._logits[row] for row in self._rows_of(tokens)]

    def _logs(self, row: int, token: int) -> tuple[float, float]:
        drawn = self._drawn.get(row)
        if drawn is not None and drawn.token == token:
            return drawn.logprob, drawn.sampling_logprob
        return log_probability(self._logits[row], token), float(np.log(self[row][token]))

    def _law(self, row: int) -> Law:
        if row not in self._laws:
            above, token = 1 + int(self._proposal.parents[row - 1]), int(self._proposal.tokens[row - 1])
            self._laws[row] = self._after(above, token)
        return self._laws[row]

    def _after(self, row: int, token: int) -> Law:
        """A law that was drawn from without its p stays as it is over the text, and needs none."""
        return self._law(row).after(token, None if row in self._drawn else self[row])

    def _rows_of(self, tokens: Sequence[int]) -> list[int]:
        if len(tokens) == 1:
            return [0]
        parents, ids = self._proposal.parents.tolist(), self._proposal.tokens.tolist()
        rows, here = [0], {ROOT}
        for token in tokens[:-1]:  # equal siblings are one text: any of them may have the next node below it
            here = {node for node, parent in enumerate(parents) if parent in here and ids[node] == token}
            rows.append(1 + min(here))
        return rows
