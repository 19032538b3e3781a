"""A drafter that any model can be checked with: the model itself at half its temperature, q = p^2 / sum(p^2).

It gains nothing, but it has a law of its own that is as far from p as a drafter's usually is, in every round and at
every place, so that a bug in what follows a draft has room to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truedraw import protocol
from truedraw.protocol import ROOT, Engine, Floats, Law, Proposal, Purpose, Randomness, Scores, Work


class SelfState:
    """protocol.DraftState: the text in the model's cache once more, and the law after it."""

    def __init__(self, sequence: protocol.Sequence, law: Law) -> None:
        self.sequence, self.law = sequence, law
        self.tokens: list[int] = []  # drafted in this round
        self.laws: list[Floats] = []

    def commit(self, tokens: Sequence[int], scores: Scores) -> None:
        """Append."""
        self.sequence.commit(tokens)
        for token in tokens:
            self.law = self.law.after(token)

    def draw(self, logits: protocol.Logits, randomness: Randomness) -> None:
        """The next draft token, from the logits [vocab] after those drawn before it."""
        law = self.law
        for token in self.tokens:
            law = law.after(token)
        q = sharpened(law(logits))
        position, node = len(self.sequence.tokens), len(self.tokens)
        self.tokens.append(randomness.choose(q, Purpose.DRAFT, position, node))
        self.laws.append(q)


class SelfDrafter:
    """protocol.Drafter over the target's own engine; close() gives its pages back."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[tuple[int, ...], protocol.Sequence] = {}  # prompts, computed once and forked
        self._forks: list[protocol.Sequence] = []

    def open(self, tokens: Sequence[int], law: Law) -> SelfState:
        """A fork of the prompt."""
        prompt = tuple(tokens)
        if prompt not in self._open:
            self._open[prompt] = self._engine.open(prompt)
        self._forks += self._engine.fork(self._open[prompt], 1)
        return SelfState(self._forks[-1], law)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A chain of `budget` tokens a state; one pass a token for all of them."""
        for state in states:
            state.tokens, state.laws = [], []
        for step in range(max(budgets, default=0)):
            live = [i for i, budget in enumerate(budgets) if budget > step]
            works = [Work(states[i].sequence, Proposal.chain(states[i].tokens)) for i in live]
            for i, scores in zip(live, self._engine.forward(works), strict=True):
                states[i].draw(scores.logits[-1], randomness[i])
        return [Proposal.chain(state.tokens, state.laws) for state in states]

    def close(self) -> None:
        """Close every text."""
        for sequence in (*self._forks, *self._open.values()):
            sequence.close()


class SiblingsDrafter(SelfDrafter):
    """The two likeliest tokens of the model, certain and side by side, where the budget has room for both."""

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One pass for all of them."""
        works = [Work(state.sequence) for state in states]
        return [
            _side_by_side(state.law(scores.logits[-1])) if budget > 1 else Proposal.chain(())
            for state, scores, budget in zip(states, self._engine.forward(works), budgets, strict=True)
        ]


def _side_by_side(law: Floats) -> Proposal:
    return Proposal(np.argsort(-law, kind="stable")[:2], np.array([ROOT, ROOT]), (None, None))


def sharpened(law: Floats) -> Floats:
    """The law at half its temperature."""
    return law**2 / float((law**2).sum())
