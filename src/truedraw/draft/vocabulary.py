"""What the ids of a target are to a draft model, and what the draft model's rows are to the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from truedraw.protocol import Logits


class Vocabulary(Protocol):
    """Between one target and one draft model."""

    def opening(self, tokens: Sequence[int]) -> Sequence[int]:
        """The draft model's ids, one at least, of a text that begins with these tokens of the target."""
        ...

    def ids(self, tokens: Sequence[int]) -> Sequence[int]:
        """Its ids of tokens further on; exactly one for a token that `row` gives a number to."""
        ...

    def row(self, logits: Logits) -> Logits:
        """[vocab] of the target from a row of the draft model; -inf for what the draft model cannot say."""
        ...


class SameTokens:
    """Vocabulary of two models with one tokenizer. They can differ in rows that no token uses."""

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size

    def opening(self, tokens: Sequence[int]) -> Sequence[int]:
        """The tokens."""
        return tokens

    def ids(self, tokens: Sequence[int]) -> Sequence[int]:
        """The tokens."""
        return tokens

    def row(self, logits: Logits) -> Logits:
        """The logits, cut or filled up to the target's number of rows."""
        missing = self._vocab_size - len(logits)
        if missing <= 0:
            return logits[: self._vocab_size]
        return np.concatenate((logits, np.full(missing, -np.inf, dtype=logits.dtype)))
