"""The table of token recycling: token -> the tokens that were likeliest behind it the last time, and how likely."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.recycle_rows import grow, learn, place_of
from truedraw.draft.suffix_nodes import NONE
from truedraw.protocol import Floats, Ints, Logits

FEWEST = 256  # rows, and entries of the index, at first
Table = NDArray[np.int32]
Shares = NDArray[np.float32]
Kind = TypeVar("Kind", np.int32, np.float32)


class RecycleTable:
    """`top_k` followers each of at most `max_tokens` tokens; the token whose row was handed out first goes first.

    Memory is 4 bytes for each id up to the largest seen, and 8 top_k + 4 bytes for each token kept.
    """

    def __init__(self, top_k: int, max_tokens: int) -> None:
        rows = min(FEWEST, max_tokens)
        self._max_tokens, self._following = max_tokens, 0
        self._index: Table = np.full(FEWEST, NONE, np.int32)  # [largest id + 1, or more]
        self._owners: Table = np.full(rows, NONE, np.int32)  # [rows]
        self._ids: Table = np.full((rows, top_k), NONE, np.int32)  # [rows, top_k]
        self._chances: Shares = np.zeros((rows, top_k), np.float32)  # [rows, top_k]

    @property
    def num_bytes(self) -> int:
        """Of the arrays."""
        return sum(array.nbytes for array in self._arrays())

    @property
    def num_tokens(self) -> int:
        """Whose followers are known."""
        return int(np.count_nonzero(self._owners != NONE))

    def copy(self) -> RecycleTable:
        """Another one that knows the same."""
        twin = RecycleTable(self._ids.shape[1], self._max_tokens)
        twin._index, twin._owners = self._index.copy(), self._owners.copy()
        twin._ids, twin._chances = self._ids.copy(), self._chances.copy()
        twin._following = self._following
        return twin

    def learn(self, rows: Mapping[int, int], logits: Logits) -> None:
        """logits[rows[t]] [vocab] is what the model says behind token t."""
        if not rows:
            return
        tokens = np.fromiter(rows, np.int64, len(rows))
        self._make_room(tokens)
        at = np.fromiter(rows.values(), np.int64, len(rows))
        self._following = learn(self._arrays(), self._following, tokens, at, np.ascontiguousarray(logits))

    def read(self, text: Sequence[int]) -> None:
        """Behind tokens that no row is known of, expect what follows them in a text.

        Of c_x times that x stood there, n in all and m different ones, the chance is c_x / (n + m); the rest is for
        what was not seen (Witten and Bell 1991).
        """
        followers: dict[int, Counter[int]] = defaultdict(Counter)
        for token, after in pairwise(text):
            followers[token][after] += 1
        unknown = [token for token in followers if not self.knows(token)]
        for token in unknown[-self._max_tokens :]:
            self._expect(token, followers[token])

    def knows(self, token: int) -> bool:
        """Whether followers of a token are known."""
        return token < len(self._index) and bool(self._index[token] != NONE)

    def draft(self, token: int, budget: int, floor: float, is_tree: bool) -> tuple[Ints, Ints, Floats]:
        """(tokens [n], parents [n], chances [n]) of a draft behind `token`: at most `budget` nodes.

        A node's chance is the product of the probabilities along its path; none is at or below `floor`.
        """
        board = (
            np.empty(budget, np.int64), np.empty(budget, np.int64), np.empty(budget), np.empty((budget, 2), np.int64)
        )  # fmt: skip
        n = grow(self._arrays(), int(token), (float(floor), is_tree), board)
        return board[0][:n], board[1][:n], board[2][:n]

    def _expect(self, token: int, seen: Counter[int]) -> None:
        self._make_room(np.array([token]))
        place, self._following = place_of(self._arrays(), self._following, token)
        best = seen.most_common(self._ids.shape[1])
        self._ids[place], self._chances[place] = NONE, 0.0
        self._ids[place, : len(best)] = [follower for follower, _ in best]
        self._chances[place, : len(best)] = [count / (seen.total() + len(seen)) for _, count in best]

    def _arrays(self) -> tuple[Table, Table, Table, Shares]:
        return self._index, self._owners, self._ids, self._chances

    def _make_room(self, tokens: Ints) -> None:
        """An index that reaches these tokens [n], and more than n rows that nobody has, up to `max_tokens` in all."""
        if tokens.max() >= len(self._index):
            self._index = longer(self._index, int(tokens.max()) + 1, NONE)
        rows = self._following + len(tokens)
        if rows >= len(self._owners) < self._max_tokens:
            rows = min(self._max_tokens, max(rows + 1, 2 * len(self._owners)))
            self._owners = longer(self._owners, rows, NONE)
            self._ids, self._chances = longer(self._ids, rows, NONE), longer(self._chances, rows, 0)


def longer(array: NDArray[Kind], length: int, fill: float) -> NDArray[Kind]:
    """The same rows and more."""
    grown = np.full((length, *array.shape[1:]), fill, array.dtype)
    grown[: len(array)] = array
    return grown
