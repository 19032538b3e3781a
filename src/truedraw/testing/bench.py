"""An engine under test, and ways to look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from truedraw.errors import TruedrawError
from truedraw.protocol import NOTHING, ROOT, Engine, Logits, Proposal, Work
from truedraw.testing.checks import require

TEXT_TOKENS = 37  # not a multiple of anything that pages are made of


class Rows(Protocol):
    """Scores of fresh texts."""

    def __call__(self, text: Sequence[int], proposal: Proposal = NOTHING) -> Logits:
        """[1 + nodes, vocab]"""
        ...


@dataclass(frozen=True, slots=True)
class Bench:
    """An engine under test. `tolerance`: total variation allowed between two ways to compute a row; 0 = every bit."""

    engine: Engine
    tolerance: float
    make: Callable[[], Engine]  # another engine like it

    def text(self, length: int = TEXT_TOKENS, seed: int = 0) -> list[int]:
        """Tokens without meaning."""
        longest = max(min(length, self.engine.context_length - 12), 1)
        ids = np.random.default_rng(seed).integers(0, self.engine.vocab_size, longest)
        return [int(token) for token in ids]

    def has_room(self, texts: Sequence[Sequence[int]], proposal: Proposal = NOTHING) -> bool:
        """Whether the cache has it for one pass over fresh texts, each with this proposal, and the context."""
        if max(map(len, texts)) + len(proposal) >= self.engine.context_length:
            return False
        sequences = [self.engine.open(list(text)) for text in texts]
        fits = self.engine.fits([Work(sequence, proposal) for sequence in sequences])
        for sequence in sequences:
            sequence.close()
        return fits

    def rows(self, text: Sequence[int], proposal: Proposal = NOTHING) -> Logits:
        """The scores of a fresh text [1 + nodes, vocab]."""
        return _rows(self.engine, text, proposal)

    @contextmanager
    def elsewhere(self) -> Iterator[Rows]:
        """What `rows` does, on an engine of its own, which has seen none of the texts."""
        engine = self.make()
        try:
            yield lambda text, proposal=NOTHING: _rows(engine, text, proposal)
        finally:
            engine.close()

    def require_equal(self, found: Logits, expected: Logits, what: str) -> None:
        """Raises AssertionError where rows differ by more than the tolerance."""
        require(found.shape == expected.shape, f"{what}: logits {found.shape}, expected {expected.shape}")
        if self.tolerance == 0:
            require(
                np.array_equal(found, expected), f"{what}: the logits differ, by TV {distance(found, expected):.3g}"
            )
        else:
            wrong = distance(found, expected)
            require(wrong <= self.tolerance, f"{what}: the laws differ by TV {wrong:.3g}, allowed is {self.tolerance}")


def _rows(engine: Engine, text: Sequence[int], proposal: Proposal) -> Logits:
    sequence = engine.open(list(text))
    logits = engine.forward([Work(sequence, proposal)])[0].logits.copy()
    sequence.close()
    return logits


def distance(a: Logits, b: Logits) -> float:
    """The largest total variation between rows."""
    return float(np.abs(_softmax(a) - _softmax(b)).sum(-1).max()) / 2


def _softmax(logits: Logits) -> Any:
    powers = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@contextmanager
def refused(what: str) -> Iterator[None]:
    """Raises AssertionError where the block raises none of truedraw's errors."""
    try:
        yield
    except TruedrawError:
        return
    raise AssertionError(f"{what} was accepted; raise one of truedraw.errors")


def woven_tree(vocab_size: int) -> Proposal:
    """Two floors and a half, siblings woven, with equal tokens on different paths."""
    tokens = np.array([1, 0, 1, 0, 1, 0, 1]) % vocab_size
    return Proposal(tokens, np.array([ROOT, ROOT, 0, 1, 1, 2, 4]), (None,) * 7)
