"""One text's chain of one round while it grows, a pass of the middle model at a time."""

from __future__ import annotations

import numpy as np

from truedraw.draft.behind import look_ahead
from truedraw.draft.forked_text import ForkedText
from truedraw.draft.knobs import PROBABILISTIC
from truedraw.draft.staged_chance import StagedChance
from truedraw.draft.staged_rows import Middle, MiddleRows
from truedraw.draft.staged_state import StagedState
from truedraw.protocol import (
    NOTHING,
    DraftState,
    Floats,
    Logits,
    Proposal,
    Randomness,
    Verifier,
    Work,
)


class Chain:
    """Grows by one pass of the middle model an inner round, in `text`.

    `guess` is what the stage proposes for the next pass, `chance` what everybody in it draws with.
    """

    def __init__(self, middle: Middle, state: StagedState, budget: int, randomness: Randomness) -> None:
        self._middle, self._state, self._law = middle, state, state.law
        self.text = ForkedText(middle.engine, state.text, state.behind)
        self._left = min(budget, state.text.room(len(state.behind)))
        self._start = len(state.text.tokens) + len(state.behind)
        self._passes = 0
        self._tokens: list[int] = []
        self._laws: list[Floats | None] = []
        self._sure: list[float] = []
        self.guess, self.chance = NOTHING, StagedChance(randomness, self._start)

    def starts(self) -> bool:
        """Whether there is anything to draft, and room in the cache to do it."""
        return self._left > 0 and self.text.starts()

    def room(self, most: int | None) -> int:
        """What the stage may propose, `most` at most: a round always emits one token more than was proposed."""
        left = self._left - len(self._tokens) - 1
        return left if most is None else min(left, most)

    def reader(self) -> DraftState | None:
        """The stage's state behind the chain."""
        return look_ahead(self._state.reader, self._tokens)

    def work(self) -> Work:
        """The rows of the next pass."""
        return self.text.work(self.guess)

    def grown(self, logits: Logits, rule: Verifier) -> bool:
        """What the inner round emits, from the logits [rows, vocab] of its pass; whether to go on."""
        rows = MiddleRows(self._middle, self._law, self.guess, logits[self.text.num_certain :])
        verdict = rule(self.guess, rows, self.chance, self._start + len(self._tokens))
        places = rows.places(verdict.tokens)
        end = next((i for i, place in enumerate(places) if rows.ends(place)), len(places))
        for token, place in zip(verdict.tokens[:end], places, strict=False):
            self._tokens.append(token)
            self._laws.append(rows[place] if self._middle.method == PROBABILISTIC else None)
            self._sure.append(rows.sure(place))
        self._passes += 1
        if end < len(places) or len(self._tokens) >= self._left or self._passes == self._middle.passes:
            return False
        self._law = rows.law(places[-1]).after(verdict.tokens[-1])
        self.text.commit(verdict.tokens)
        return True

    def ended(self) -> Proposal:
        """What was drafted."""
        return Proposal.chain(self._tokens, self._laws, np.array(self._sure, np.float64))
