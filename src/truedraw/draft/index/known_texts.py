"""An index as a source of drafts: the same questions as to a suffix automaton, answered from the file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.draft.index.layout import DEPTH
from truedraw.draft.index.lookup import draft, longest
from truedraw.draft.index.mapping import Mapped
from truedraw.protocol import Floats, Ints

LONGEST = DEPTH // 2  # tokens looked up at most, so that as many can be drafted behind them


class Tail:
    """The end of a text. `most`: its longest known suffix cannot be longer, because it grows by one token a token."""

    def __init__(self, tokens: Ints, most: int) -> None:
        self.tokens, self.most = tokens, most
        self.place: Ints | None = None  # of that suffix, once it was looked up


class KnownTexts:
    """Looks up at most `depth` - 1 tokens, and at most LONGEST."""

    def __init__(self, index: Mapped, depth: int) -> None:
        self.longest = min(depth - 1, LONGEST)
        self._words, self._segments = index.words, index.segments
        self.draft(self.text(), 1, 1.0, False)  # compiled now, and not in the first round, whose time is measured

    def text(self) -> Tail:
        """The beginning of a text."""
        return Tail(np.zeros(0, np.int64), 0)

    def write(self, tail: Tail, tokens: Sequence[int]) -> None:
        """Go on behind these tokens; the index stays as it is."""
        given = np.asarray(tokens[-self.longest :], np.int64)
        tail.tokens = np.concatenate([tail.tokens, given])[-self.longest :]
        tail.most = min(tail.most + len(tokens), len(tail.tokens))
        tail.place = None

    def behind(self, tail: Tail, tokens: Sequence[int]) -> Tail:
        """Another tail, behind these tokens."""
        ahead = Tail(tail.tokens, tail.most)
        self.write(ahead, tokens)
        return ahead

    def match(self, tail: Tail) -> int:
        """Tokens of the longest suffix that something followed."""
        return int(self._found(tail)[0])

    def draft(self, tail: Tail, budget: int, floor: float, is_tree: bool) -> tuple[Ints, Ints, Floats]:
        """As SuffixAutomaton.draft; a draft ends where the known texts end, and at DEPTH tokens with what was found."""
        place = self._found(tail).copy()
        board = (
            np.empty(budget, np.int64), np.empty(budget, np.int64), np.empty(budget),
            np.empty((budget, len(place)), np.int64),
        )  # fmt: skip
        n = draft(self._words, self._segments, place, (float(floor), is_tree), board)
        return board[0][:n], board[1][:n], board[2][:n]

    def _found(self, tail: Tail) -> Ints:
        if tail.place is None:
            tail.place = np.zeros(1 + 2 * len(self._segments), np.int64)
            tail.most = int(longest(self._words, self._segments, tail.tokens, tail.most, tail.place))
        return tail.place
