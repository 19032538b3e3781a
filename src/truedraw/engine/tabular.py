"""An exact toy model over a few tokens: the law of the next token is looked up in a table.

The keys of the table are the last `order` tokens; a context that is not in the table (the first tokens have too short
a one) uses the row of its longest known suffix, down to the empty one. Logits are log(probability), so softmax gives
the table back to rounding error, zeros included, and every law of truedraw can be enumerated on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truedraw import protocol
from truedraw.engine.texts import CLOSED, check_fill
from truedraw.errors import BadParameter, BadPrompt, EngineError
from truedraw.protocol import Fill, Scores, Work

Context = tuple[int, ...]


class TabularSequence:
    """protocol.Sequence without a cache: the text is all there is.

    It counts what a cache would hold, so that fills and evictions go the same way as on a real engine.
    """

    def __init__(self, tokens: Sequence[int], cached: int = 0) -> None:
        self._tokens = list(tokens)
        self.cached = cached

    @property
    def tokens(self) -> Sequence[int]:
        """The committed text."""
        return self._tokens

    @property
    def num_uncached(self) -> int:
        """Tokens that no pass has covered since they were opened or evicted, at least 1."""
        return max(1, len(self._tokens) - self.cached)

    def commit(self, tokens: Sequence[int]) -> None:
        """Append; behind a text that is covered, all but the last token is, as after drafts that were kept."""
        if self.cached == len(self._tokens):
            self.cached += max(0, len(tokens) - 1)
        self._tokens.extend(tokens)

    def evict(self) -> None:
        """Forget that the text was covered."""
        self.cached = 0

    def close(self) -> None:
        """Nothing to free."""


class TabularEngine:
    """protocol.Engine over a table of probabilities {context: [vocab]}, the empty context included."""

    def __init__(self, table: Mapping[Context, Sequence[float]], context_length: int = 1 << 20) -> None:
        if () not in table:
            raise BadParameter("table", "it has no row for the empty context (); every table needs one")
        self.vocab_size = len(table[()])
        self.context_length = context_length
        self._order = max(map(len, table))
        with np.errstate(divide="ignore"):
            self._logits = {context: np.log(np.asarray(row, dtype=np.float64)) for context, row in table.items()}
        self._is_closed = False

    def open(self, tokens: Sequence[int]) -> TabularSequence:
        """Start a text; raises BadPrompt where it is empty or holds an id outside the vocabulary."""
        self._live()
        if not tokens or not all(0 <= token < self.vocab_size for token in tokens):
            raise BadPrompt(f"got tokens {list(tokens)}; give at least one id from 0 to {self.vocab_size - 1}")
        return TabularSequence(tokens)

    def fork(self, sequence: protocol.Sequence, n: int) -> list[protocol.Sequence]:
        """n copies."""
        if n > 0:
            _cover(sequence, max(1, len(sequence.tokens) - 1))
        return [TabularSequence(sequence.tokens, getattr(sequence, "cached", 0)) for _ in range(n)]

    def fits(self, works: Sequence[Work], fills: Sequence[Fill] = ()) -> bool:
        """Always: a table needs no cache."""
        return True

    def forward(self, works: Sequence[Work], fills: Sequence[Fill] = ()) -> list[Scores]:
        """Look every node up; logits are float64 here, so that laws stay exact.

        Raises EngineError past the context, for a fill that leaves no token for a work, and once closed.
        """
        self._live()
        if any(len(work.sequence.tokens) > self.context_length for work in works):
            raise EngineError(f"a text is longer than the context of {self.context_length}; stop at the context length")
        for fill in fills:
            check_fill(fill)
        scores = [Scores(self._rows(work)) for work in works]
        for work in works:
            _cover(work.sequence, len(work.sequence.tokens))
        for fill in fills:
            _cover(fill.sequence, len(fill.sequence.tokens) - fill.sequence.num_uncached + fill.count)
        return scores

    def close(self) -> None:
        """Nothing to free; texts that are still open can no longer be run."""
        self._is_closed = True

    def _live(self) -> None:
        if self._is_closed:
            raise EngineError(CLOSED)

    def _rows(self, work: Work) -> Any:
        contexts = [tuple(work.sequence.tokens[-self._order :]) if self._order else ()]  # by row: that of ROOT is 0
        for token, parent in zip(work.proposal.tokens.tolist(), work.proposal.parents.tolist(), strict=True):
            contexts.append((*contexts[1 + parent], token)[-self._order :] if self._order else ())
        return np.array([self._lookup(context) for context in contexts])  # [1 + nodes, vocab]

    def _lookup(self, context: Context) -> Any:
        while context not in self._logits:
            context = context[1:]
        return self._logits[context]


def _cover(sequence: protocol.Sequence, count: int) -> None:
    """The first `count` tokens, or more, are computed."""
    if isinstance(sequence, TabularSequence):
        sequence.cached = max(sequence.cached, count)
