"""How often each token stands in a text that grows token by token and branches, without work of the text's length.

The older part of the text is an array of counts that all branches share and nobody writes; the newest tokens are a
short tuple. When the tuple is full a new array is made, so a token costs O(1) and now and then a pass over the
vocabulary. What a row reads depends on the text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truedraw.protocol import Ints
from truedraw.sampling.edits import Seen

RECENT_TOKENS = 64  # kept apart at most: a new array costs about as much as reading this many tokens one by one


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The tokens of a text and how often they occur."""

    counts: Ints  # [vocab], of the older part
    ids: Ints  # tokens of the older part, rising
    recent: tuple[int, ...] = ()

    @classmethod
    def of(cls, tokens: Sequence[int], vocab_size: int) -> TokenCounts:
        """Of a whole text; token ids must be below vocab_size."""
        counts = np.bincount(np.asarray(tokens, dtype=np.int64), minlength=vocab_size)
        return cls(counts, np.flatnonzero(counts))

    def add(self, token: int) -> TokenCounts:
        """With one more token; this object stays as it is."""
        recent = (*self.recent, token)
        if len(recent) < RECENT_TOKENS:
            return TokenCounts(self.counts, self.ids, recent)
        counts = self.counts + np.bincount(recent, minlength=self.counts.size)
        return TokenCounts(counts, np.flatnonzero(counts))

    def seen(self) -> Seen:
        """As edits tell it."""
        return self.ids, self.counts, np.array(self.recent, dtype=np.int64)
