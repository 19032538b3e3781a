"""One text's chain of one round while it grows, a pass of the middle model at a time."""

from __future__ import annotations

import numpy as np

from truedraw.draft.behind import look_ahead
from truedraw.draft.joining import join
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
    Sequence,
    Verifier,
    Work,
)


class Chain:
    """The first pass is one of the text itself; the next ones go on in a fork, which is dropped at the end.

    `guess` is what the stage proposes for the next pass, `chance` what everybody in it draws with.
    """

    def __init__(self, middle: Middle, state: StagedState, budget: int, randomness: Randomness) -> None:
        self._middle, self._state, self._law = middle, state, state.law
        self._behind = list(state.behind)
        self._left = min(budget, state.text.room(len(self._behind)))
        self._start = len(state.text.tokens) + len(self._behind)
        self._sequence: Sequence | None = None
        self._fork: Sequence | None = None
        self._passes = 0
        self._tokens: list[int] = []
        self._laws: list[Floats | None] = []
        self._sure: list[float] = []
        self.guess, self.chance = NOTHING, StagedChance(randomness, self._start)

    def starts(self) -> bool:
        """Whether there is anything to draft, and room in the cache to do it."""
        if self._left > 0:
            self._sequence = self._state.text.sequence()
        return self._sequence is not None

    def room(self, most: int | None) -> int:
        """What the stage may propose, `most` at most: a round always emits one token more than was proposed."""
        left = self._left - len(self._tokens) - 1
        return left if most is None else min(left, most)

    def reader(self) -> DraftState | None:
        """The stage's state behind the chain."""
        return look_ahead(self._state.reader, self._tokens)

    def work(self) -> Work:
        """The rows of the next pass."""
        if self._fork is not None:
            return Work(self._fork, self.guess)
        assert self._sequence is not None
        return Work(self._sequence, join(self._behind, self.guess))

    def grown(self, logits: Logits, rule: Verifier) -> bool:
        """What the inner round emits, from the logits [rows, vocab] of its pass; whether to go on."""
        rows = MiddleRows(self._middle, self._law, self.guess, logits[0 if self._fork else len(self._behind) :])
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
        self._feed(verdict.tokens)
        return True

    def leave(self) -> None:
        """Give up the pages; what was drafted so far stands, for no token drawn had a part in this."""
        self.close()
        if self._sequence is not None:
            self._sequence.evict()

    def ended(self) -> Proposal:
        """What was drafted."""
        return Proposal.chain(self._tokens, self._laws, np.array(self._sure, np.float64))

    def _feed(self, tokens: tuple[int, ...]) -> None:
        if self._fork is None:
            assert self._sequence is not None
            self._fork = self._middle.engine.fork(self._sequence, 1)[0]
            self._fork.commit(self._behind)
        self._fork.commit(tokens)

    def close(self) -> None:
        """Give the fork back: to be done whatever happens, for nobody else knows of it."""
        if self._fork is not None:
            self._fork.close()
            self._fork = None
