"""A suffix automaton over texts that grow: what followed the longest known suffix, in O(1) a token.

Blumer et al. 1985; as a drafter SAM decoding (2411.10666) and SuffixDecoding (2411.04975). Texts may branch off from
one another, so the samples of a prompt share its part. Nothing is ever taken out: an automaton is dropped as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.suffix_nodes import EDGES, LAST, MATCHED, NONE, PLACE, ROOT_STATE, STATES
from truedraw.draft.suffix_reading import draft, follow, match
from truedraw.draft.suffix_writing import enter, rehash
from truedraw.protocol import Floats, Ints

Table = NDArray[np.int32]
Cursor = NDArray[np.int64]
FEWEST = 64  # rows of a table at first
GROWTH = 1.4  # of a full table: a sixth of the memory is unused in the mean
FULLEST = 0.7  # of the hash table, before its chains of taken slots become long
MOST_LATE = 1024  # tokens that were written and not entered


class SuffixAutomaton:
    """Knows every string of its texts, and how often each of at most `depth` tokens occurred.

    A text is written through a cursor, which others read through it alone. What is written is entered when somebody
    reads: where many texts grow at once most rounds draft nothing, and entering is a call of compiled code for each
    text. One caller at a time.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._states: Table = np.zeros((FEWEST, 4), np.int32)
        self._edges: Table = np.zeros((FEWEST, 4), np.int32)
        self._slots: Table = np.full(2 * FEWEST, NONE, np.int32)
        self._sizes = np.array([1, 0], np.int64)
        self._late: dict[int, tuple[Cursor, list[int]]] = {}  # by the cursor's id, which is held
        self._num_late = 0
        self._states[ROOT_STATE] = (0, NONE, 0, NONE)

    @property
    def num_bytes(self) -> int:
        """Of the tables."""
        self._enter()
        return self._states.nbytes + self._edges.nbytes + self._slots.nbytes

    def text(self) -> Cursor:
        """A cursor at the beginning of a text."""
        return np.zeros(3, np.int64)

    def copy(self, cursor: Cursor) -> Cursor:
        """A cursor for a further text that begins like this one."""
        self._enter()
        return cursor.copy()

    def write(self, cursor: Cursor, tokens: Sequence[int]) -> None:
        """Append tokens to the text of a cursor."""
        if not len(tokens):
            return
        self._late.setdefault(id(cursor), (cursor, []))[1].extend(tokens)
        self._num_late += len(tokens)
        if self._num_late > MOST_LATE:
            self._enter()

    def _enter(self) -> None:
        """All that was written, before anything is read."""
        if self._num_late:
            self._num_late = 0
            while self._late:
                self._append(*self._late.pop(next(iter(self._late))))

    def _append(self, cursor: Cursor, tokens: Sequence[int]) -> None:
        left = np.asarray(tokens, np.int64)
        while len(left):
            left = left[enter(self._tables(), self._sizes, cursor, self.depth, left) :]
            if len(left):
                self._grow()

    def behind(self, cursor: Cursor, tokens: Sequence[int]) -> Cursor:
        """A cursor to read from, behind tokens that are not entered; nothing can be written through it."""
        self._enter()
        ahead = cursor.copy()
        ahead[LAST] = NONE
        follow(self._tables(), ahead, self.depth, np.asarray(tokens, np.int64))
        return ahead

    def place(self, cursor: Cursor) -> tuple[Table, Table, int, int]:
        """(states, edges, state, length of its string), for compiled code that reads what followed a cursor's text."""
        self._enter()
        return self._states, self._edges, int(cursor[PLACE]), int(cursor[MATCHED])

    def match(self, cursor: Cursor) -> int:
        """Tokens of the longest suffix of the cursor's text that something followed, fewer than `depth`."""
        self._enter()
        return int(match(self._states, cursor[PLACE], cursor[MATCHED], self.depth - 1)[1])

    def draft(self, cursor: Cursor, budget: int, floor: float, is_tree: bool) -> tuple[Ints, Ints, Floats]:
        """(tokens [n], parents [n], estimated chances [n]): at most `budget` nodes with a chance of `floor` or more."""
        self._enter()
        board = (
            np.empty(budget, np.int64), np.empty(budget, np.int64), np.empty(budget), np.empty((budget, 2), np.int64)
        )  # fmt: skip
        place = (cursor[PLACE], cursor[MATCHED])
        n = draft(self._tables(), place, (self.depth - 1, float(floor), is_tree), board)
        return board[0][:n], board[1][:n], board[2][:n]

    def _tables(self) -> tuple[Table, Table, Table]:
        return self._states, self._edges, self._slots

    def _grow(self) -> None:
        """Room for the next token at least, whichever table it lacks."""
        num_states, num_edges = self._sizes[STATES], self._sizes[EDGES]
        if num_states + 2 > len(self._states):
            self._states = longer(self._states)
            return
        self._edges = longer(self._edges)
        if len(self._edges) > FULLEST * len(self._slots):
            self._slots = np.full(2 * len(self._slots), NONE, np.int32)
            rehash(self._edges, num_edges, self._slots)


def longer(table: Table) -> Table:
    """The same rows and room for more."""
    grown = np.zeros((int(len(table) * GROWTH), table.shape[1]), np.int32)
    grown[: len(table)] = table
    return grown
