"""The target's p at the nodes of a proposal, transformed when a verifier looks and never before.

Most verdicts need no p, only tokens drawn from it: those are drawn without writing p down where the law allows it.

Where no token may follow a draft (bad words, n-grams, a grammar that is stuck), plain sampling would raise an error,
but only if its text came there and went on. So a rule is shown some law there, and what it decides from there on is
dropped. That keeps the law of the text, errors included: an exact rule emits the law p' that it was shown, p' and p
are equal down to such a place, and where a text first comes to one depends on the text alone. If it goes on, the next
round begins there, and row 0 raises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truedraw.draft.behind import law_after
from truedraw.errors import BadParameter, EngineError
from truedraw.generate.anything import Anything
from truedraw.generate.means import Means
from truedraw.generate.over import OVER
from truedraw.protocol import (
    ROOT,
    Floats,
    Law,
    Logits,
    Proposal,
    Purpose,
    Randomness,
    Scores,
    TopLogprobs,
    Verdict,
)
from truedraw.sampling.drawing import Drawn
from truedraw.sampling.law import likeliest, log_probability
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import fused
from truedraw.verify.fused.judge import Decided


class LawRows:
    """protocol.DrawingRows, and DecidingRows, of one sample in one round.

    Most rounds end early, so most rows are never asked for. Raises BadParameter and EngineError in row 0 only.
    """

    def __init__(self, law: Law, proposal: Proposal, scores: Scores, means: Means | None = None) -> None:
        self._proposal, self._logits, self.hidden = proposal, scores.logits, scores.hidden
        self._means = Means() if means is None else means
        self._draws = self._means.draws
        self._told: Decided | None = None  # where all of it was decided at once
        self._drawn: dict[int, Drawn] = {}
        self.vocab_size = scores.logits.shape[1]
        self._laws: dict[int, Law] = {0: law}
        self._known: dict[int, Floats] = {}
        self._closed: set[int] = set()  # rows found to allow nothing; none below them

    def __getitem__(self, row: int) -> Floats:
        if row not in self._known:
            self._known[row] = self._p(row)
        return self._known[row]

    def __enter__(self) -> LawRows:
        return self

    def __exit__(self, *_failed: object) -> None:
        self.over()

    def over(self) -> None:
        """The round is: the engine's memory is for other passes, and what was not looked at can be no longer."""
        self._logits, self.hidden = OVER, None if self.hidden is None else OVER

    def reached(self, verdict: Verdict) -> Verdict:
        """What of a verdict stands before the first row that allows nothing; all of it where there is none.

        Drafts alone lead to such a row, so the last token then is a draft, and none was drawn behind it.
        """
        if not self._closed:
            return verdict
        rows = self._rows_of(verdict.tokens)
        count = next((place for place, row in enumerate(rows) if self._is_closed(row)), None)
        if count is None:
            return verdict
        return replace(verdict, tokens=verdict.tokens[:count], num_accepted=count, rejected=False)

    def draw(self, row: int, randomness: Randomness, purpose: Purpose, position: int, node: int = 0) -> int:
        """randomness.choose(self[row], purpose, position, node)."""
        drawn = self._draws.draw(self._law(row), self._logits[row], randomness, purpose, position, node)
        if drawn is None:
            return randomness.choose(self[row], purpose, position, node)
        self._drawn[row] = drawn
        return drawn.token

    def decide(self, coupled: bool, proposal: Proposal, randomness: Randomness, position: int) -> Verdict | None:
        """See protocol.DecidingRows; rows that are made of these may say something else."""
        if type(self) is not LawRows:
            return None
        found = fused(self._laws[0], self._logits)
        if found is None or not found.is_counted or type(randomness) is not PhiloxRandomness:
            return None
        how, edits = found.fused.how, found.edits()
        told = self._means.judge.decide(coupled, how, self._logits, proposal, randomness, position, edits)
        return None if told is None else self.decided(told)

    def decided(self, told: Decided) -> Verdict:
        """What compiled code has decided of these rows."""
        self._told = told
        return told.verdict

    def law_after(self, tokens: Sequence[int]) -> Law:
        """The law once the tokens of a verdict stand there."""
        if self._told is not None:
            return law_after(self._laws[0], tokens)
        return self._after(self._rows_of(tokens)[-1], tokens[-1])

    def logprobs(self, tokens: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Natural logs of the probabilities of an emitted text, before and after the transforms."""
        if (told := self._told_of(tokens)) is not None:
            return told.logprobs[: len(tokens)], told.sampling_logprobs[: len(tokens)]
        pairs = [self._logs(row, token) for row, token in zip(self._rows_of(tokens), tokens, strict=True)]
        return tuple(before for before, _ in pairs), tuple(after for _, after in pairs)

    def top_logprobs(self, tokens: Sequence[int], logprobs: Sequence[float], count: int) -> tuple[TopLogprobs, ...]:
        """The `count` likeliest tokens at the place of each of an emitted text, whose own `logprobs` are known."""
        if not count:
            return ((),) * len(tokens)
        places = zip(self._rows_of(tokens), tokens, logprobs, strict=True)
        return tuple(self._top(row, token, logprob, count) for row, token, logprob in places)

    def logits(self, tokens: Sequence[int]) -> list[Logits]:
        """The model's rows [vocab] that the tokens of a verdict were drawn from."""
        return [self._logits[row] for row in self._rows_of(tokens)]

    def _logs(self, row: int, token: int) -> tuple[float, float]:
        drawn = self._drawn.get(row)
        if drawn is None or drawn.token != token:
            drawn = self._draws.given(self._law(row), self._logits[row], token)
        before = log_probability(self._logits[row], token) if drawn is None else drawn.logprob
        after = None if drawn is None else drawn.sampling_logprob
        return before, log_of(float(self[row][token])) if after is None else after

    def _top(self, row: int, token: int, logprob: float, count: int) -> TopLogprobs:
        """By their distance from the emitted token: its own logarithm, if it is among them, so stays bit for bit."""
        logits = self._logits[row]
        ids = likeliest(logits, count)
        logs = np.minimum(0.0, logprob + (logits[ids].astype(np.float64) - float(logits[token])))
        return tuple(zip(ids.tolist(), logs.tolist(), strict=True))

    def _p(self, row: int) -> Floats:
        try:
            return self._law(row)(self._logits[row])
        except (BadParameter, EngineError):
            if row == 0:
                raise
        self._closed.add(row)
        self._laws[row] = Anything()
        return self._laws[row](self._logits[row])

    def _is_closed(self, row: int) -> bool:
        """Looked at anew: a rule may have looked at an equal sibling of the draft in its place."""
        if row not in self._drawn:
            self[row]
        return row in self._closed

    def _law(self, row: int) -> Law:
        if row not in self._laws:
            above, token = 1 + int(self._proposal.parents[row - 1]), int(self._proposal.tokens[row - 1])
            self._laws[row] = self._after(above, token)
        return self._laws[row]

    def _after(self, row: int, token: int) -> Law:
        """A law that was drawn from without its p has no step that carries p on."""
        p = None if row in self._drawn else self[row]  # before the law, which it may turn into Anything
        return self._law(row).after(token, p)

    def _told_of(self, tokens: Sequence[int]) -> Decided | None:
        """What is known of an emitted text that was decided at once; stop rules may have cut it."""
        told = self._told
        return told if told is not None and told.verdict.tokens[: len(tokens)] == tokens else None

    def _rows_of(self, tokens: Sequence[int]) -> list[int]:
        if len(tokens) == 1:
            return [0]
        if (told := self._told_of(tokens)) is not None:
            return list(told.rows[: len(tokens)])
        parents, ids = self._proposal.parents.tolist(), self._proposal.tokens.tolist()
        rows, here = [0], {ROOT}
        for token in tokens[:-1]:  # equal siblings are one text: any of them may have the next node below it
            here = {node for node, parent in enumerate(parents) if parent in here and ids[node] == token}
            rows.append(1 + min(here))
        return rows


def log_of(p: float) -> float:
    """As the kernels take it: numpy's may differ in the last bit."""
    return math.log(p) if p > 0.0 else -math.inf
