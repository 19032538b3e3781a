"""One text's drafts of one round while they grow: candidates for the first token, then a chain behind the first."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from truedraw.draft.cached_text import Text
from truedraw.draft.forked_text import ForkedText
from truedraw.draft.knobs import GREEDY, PROBABILISTIC, Knobs
from truedraw.errors import BadParameter
from truedraw.protocol import (
    ROOT,
    DraftLaw,
    Engine,
    Floats,
    Law,
    Logits,
    Proposal,
    Purpose,
    Randomness,
    SparseLaw,
)
from truedraw.sampling.randomness import choose_sparse

Q = TypeVar("Q", Floats, SparseLaw, DraftLaw)
MARGIN = 1e-6
"""The least that is left: a confidence lies between 0 and 1."""


class Draws:
    """How the tokens of one text are drawn in a round that starts at `position`; `method` is one of knobs.METHODS."""

    def __init__(self, method: str, randomness: Randomness, position: int) -> None:
        self._method, self._randomness, self._position = method, randomness, position

    def token(self, q: DraftLaw, depth: int, node: int) -> tuple[int, DraftLaw | None]:
        """A token for the place `depth` tokens further, and its law: None where it is no sample of q."""
        if self._method == GREEDY:
            return likeliest(q), None
        if self._method == PROBABILISTIC:
            return self._choose(q, Purpose.DRAFT, self._position, node), q
        return self._choose(q, Purpose.TARGET, self._position + depth), None

    def _choose(self, q: DraftLaw, purpose: Purpose, position: int, node: int = 0) -> int:
        if isinstance(q, SparseLaw):
            return choose_sparse(self._randomness, q, purpose, position, node)
        return self._randomness.choose(q, purpose, position, node)


class Branch:
    """Grows by one pass of the draft model a token, in `text`."""

    def __init__(self, engine: Engine, text: Text, behind: tuple[int, ...], budget: int) -> None:
        self.text = ForkedText(engine, text, behind)
        self._budget, self._left = budget, min(budget, text.room(len(self.text.behind)))
        self._nodes: list[tuple[int, int, DraftLaw | None]] = []  # token, parent, law
        self._sure: list[float] = []  # a node each
        self._chain, self._end = 0, ROOT  # tokens of the chain and its last node

    def starts(self) -> bool:
        """Whether there is anything to draft, and room in the cache to do it."""
        return self._left > 0 and self.text.starts()

    def grow(self, logits: Logits, law: Law, draws: Draws, knobs: Knobs) -> int | None:
        """Draw what follows, from logits [vocab]; the token to go on behind, None where the draft ends."""
        if knobs.ends(logits):
            return None
        try:
            q = law(logits)
        except BadParameter:  # the draft model rules out all that the target's law allows: there is nothing to offer
            return None
        first, above, sure = len(self._nodes), self._end, sureness(logits)
        for _ in range(min(knobs.siblings, self._budget) if above == ROOT else 1):
            if not q.any():
                break
            token, reported = draws.token(q, self._chain, len(self._nodes))
            self._nodes.append((token, above, reported))
            self._sure.append(sure if len(self._nodes) - 1 == first else 1.0 - sure)
            q = without(q, token)
        self._chain, self._end = self._chain + 1, first
        if len(self._nodes) >= self._budget or self._chain >= self._left:
            return None
        return self._nodes[first][0]

    def ended(self) -> Proposal:
        """What was drafted."""
        tokens, parents, laws = zip(*self._nodes, strict=True) if self._nodes else ((), (), ())
        sure = np.array(self._sure, np.float64)
        return Proposal(np.array(tokens, np.int64), np.array(parents, np.int64), tuple(laws), sure)


def sureness(logits: Logits) -> float:
    """1 / (1 + exp(-m)), m the margin of the likeliest token of logits [vocab] over the next: known before any draw."""
    best = int(logits.argmax())
    others = (logits[:best].max(initial=-np.inf), logits[best + 1 :].max(initial=-np.inf))
    return float(np.clip(1.0 / (1.0 + np.exp(max(others) - logits[best])), MARGIN, 1.0 - MARGIN))


def likeliest(q: DraftLaw) -> int:
    """The token; the first of several."""
    return int(q.tokens[q.weights.argmax()] if isinstance(q, SparseLaw) else q.argmax())


def without(q: Q, token: int) -> Q:
    """q given that it is not `token`; zeros where nothing else is possible."""
    if isinstance(q, SparseLaw):
        left, place = q.weights.copy(), q.tokens.searchsorted(token)
        if place < len(left) and q.tokens[place] == token:
            left[place] = 0.0
        return SparseLaw(q.tokens, normalised(left), q.vocab_size)
    left = q.copy()
    left[token] = 0.0
    return normalised(left)


def normalised(weights: Floats) -> Floats:
    """With a sum of 1; zeros as they are."""
    total = weights.sum()
    return weights / total if total > 0 else weights
