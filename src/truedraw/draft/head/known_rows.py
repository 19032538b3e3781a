"""The last rows of one text: what the target knew there, and the tokens that it drew from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.cell import Memory, Past
from truedraw.draft.head.reading import features_along
from truedraw.protocol import Scores

MOST = 8  # that wait to be remembered: with more the first draft behind a rest would be dear, and look so


class KnownRows:
    """features [rows, streams, width], None where the last row is not known and nothing can be drafted; tokens: those
    behind them. memory: what the head remembers of the text, which has not got them yet; None: it reads the last row
    alone.
    """

    def __init__(self, memory: Memory | None) -> None:
        self.features: NDArray[np.float32] | None = None
        self.tokens: list[int] = []
        self.memory, self._end, self._is_told = memory, 0, False

    @property
    def are_remembered(self) -> bool:
        """Whether a row that is not heard of is missed later."""
        return self.memory is not None

    def commit(self, tokens: Sequence[int], scores: Scores | None) -> None:
        """The text goes on; without the target's hidden states nothing can be drafted until the next round."""
        self._end += len(tokens)
        fresh = None if scores is None else features_along(tokens, scores, last=self.memory is None)
        if fresh is None:
            self.features, self.tokens = None, []
        elif self.memory is None or self._is_told or self.features is None:
            self.features, self.tokens = fresh[-MOST:], list(tokens[-len(fresh) :][-MOST:])
        else:
            self.features = np.concatenate([self.features, fresh])[-MOST:]
            self.tokens = [*self.tokens, *tokens][-MOST:]
        self._is_told = False

    def read_on(self, count: int) -> None:
        """By so many tokens: the head has read their rows, too."""
        self._end, self._is_told = self._end + count, True

    @property
    def first(self) -> int:
        """The number in the text of the first of the tokens."""
        return self._end - len(self.tokens)

    def close(self) -> None:
        """The text is gone."""
        if self.memory is not None:
            self.memory.close()

    def tell(self) -> list[Past]:
        """As a cell that remembers is told of them; of one that does not, nothing."""
        if self.memory is None:
            return []
        assert self.features is not None
        count = len(self.tokens)
        return [Past(self.memory, self.first, count)]

    def told(self) -> None:
        """The head has read them: the last one alone is read again, where it is asked again."""
        self._is_told = True
        if len(self.tokens) > 1 and self.features is not None:
            self.features, self.tokens = self.features[-1:], self.tokens[-1:]
