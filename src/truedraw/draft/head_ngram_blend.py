"""Two laws that know different tokens, as one row of logits.

With a weight w in (0, 1), a head's logits z over the tokens that it knows, Z the log of the sum of their exp, and a law
c of counts, the row has

    log((1 - w) exp(z) + w exp(Z) c)

for each token that one of them knows; with w = 0 it is the head's. It is the head's own row, up to one constant, for
all that was never counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truedraw.compiled import later
from truedraw.draft.head.reading import Reading
from truedraw.draft.ngram_lm_source import Counted
from truedraw.protocol import Ints, Logits

BLENDED, MERGED = (later("truedraw.draft.head_ngram_kernels", name) for name in ("blended", "merged"))
UNKNOWN = -1
"""The place of a token that a head does not know."""


class Row(NamedTuple):
    """Logits [known] and how they are read."""

    reading: Reading
    logits: Logits


class Blender:
    """For a head that knows `tokens` [known], rising, of a target of `vocab_size` tokens."""

    def __init__(self, tokens: Ints, vocab_size: int) -> None:
        self._tokens, self._vocab_size = tokens, vocab_size
        self._places = np.full(vocab_size, UNKNOWN, np.int64)
        self._places[tokens] = np.arange(len(tokens))

    def row(self, said: Logits, counted: Counted | None, weight: float) -> Row:
        """Of what a head said [known], and of counts, which have this weight; without one it is the head's own."""
        alone = Row(Reading(self._tokens, self._vocab_size), said)
        if counted is None or not weight:
            return alone
        z = np.ascontiguousarray(said, np.float32)
        base = np.empty_like(z)
        tokens, new, is_law = BLENDED()(z, self._places, counted.tokens, counted.chances, weight, base)
        if not is_law:
            return alone
        if not len(tokens):
            return Row(alone.reading, base)
        order = tokens.argsort()
        tokens, base = MERGED()(self._tokens, base, tokens[order], new[order])
        return Row(Reading(tokens, self._vocab_size), base)
