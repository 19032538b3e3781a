"""Where lookahead decoding guesses ahead of the text: what stands in a pass so that its rows can be read.

A guess is a token for a place ahead; what the model finds likeliest behind it is the guess of the next pass for the
place after it (Jacobi iteration). The oldest guesses w_1 w_2 .. stand in a chain behind the text, and behind each of
them the newer ones of its own column, which came from one another:

    text - w_1 - w_2 - w_3          columns (w_1, y_1, z_1), (w_2, y_2, z_2), .. of n - 1 tokens;
            |     |     |           the token likeliest behind z_c makes the n-gram (w_c, y_c, z_c, .)
           y_1   y_2   y_3          and the next column is (y_c, z_c, .)
            |     |     |
           z_1   z_2   z_3

This is the attention pattern of Fu et al., 2402.02057, and a tree of drafts like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truedraw.draft.lookahead_board import Board

Path = tuple[int, ...]
"""Tokens behind the text."""

FIRST, NEXT, BEHIND = 0.05, 0.1, 0.3  # confidences: of w_1, of the other w, of a guess in the context it was made in


class Columns:
    """The window for rules that take trees: `width` columns of `depth` tokens, of which the c-th begins c places on."""

    def __init__(self, width: int, depth: int) -> None:
        self._width, self._depth = width, depth
        self._columns: list[Path] = []
        self._asked: list[Path] = []
        self._begun = 0

    def num_rows(self, room: int) -> int:
        """Nodes of as many columns as fit into `room`."""
        return min(self._width, room // self._depth) * self._depth

    def place(self, board: Board, start: Path, tail: Sequence[int]) -> list[Path]:
        """Put as many columns as fit on the board; the paths to their ends."""
        width = self.num_rows(board.room) // self._depth
        while len(self._columns) < width:
            self._columns.append(self._begin(tail))
        ways = tuple(column[0] for column in self._columns)
        self._asked = [ways[:c] + self._columns[c] for c in range(width)]
        for path in self._asked:
            likely = [FIRST, *[NEXT] * (len(path) - self._depth), *[BEHIND] * (self._depth - 1)]
            board.add(path, likely)
        return self._asked

    def learn(self, found: Mapping[Path, int], num_committed: int) -> None:
        """What is likeliest behind paths; the text has gone on by `num_committed` tokens."""
        answers = [found[path] for path in self._asked if path in found]
        if answers and len(answers) == len(self._asked):
            moved = [(*column[1:], answer) for column, answer in zip(self._columns, answers, strict=False)]
            self._columns = moved[num_committed - 1 :]  # they begin one place further on already
        else:  # rows are missing: only the text has moved
            self._columns = self._columns[num_committed:]
        self._asked = []

    def _begin(self, tail: Sequence[int]) -> Path:
        """A column of tokens that stood in the text, at another place each time."""
        start = self._begun * self._depth
        self._begun += 1
        return tuple(tail[(start + i) % len(tail)] for i in range(self._depth))


class Line:
    """The window for rules that take chains only: one guess for each place, behind a candidate (plain Jacobi)."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._guesses: dict[int, int] = {}  # places ahead of the text's next token -> token

    def num_rows(self, room: int) -> int:
        """Nodes of as many guesses as fit into `room`."""
        return min(self._width, room)

    def place(self, board: Board, start: Path, tail: Sequence[int]) -> list[Path]:
        """Go on behind the path `start`, with tokens of the text where there is no guess; all paths whose rows help."""
        path = start
        for place in range(len(start), len(start) + self.num_rows(board.room)):
            path = (*path, self._guesses.get(place, tail[place % len(tail)]))
            board.add(path, [FIRST] * len(path))
        return prefixes(path)

    def learn(self, found: Mapping[Path, int], num_committed: int) -> None:
        """What is likeliest behind paths; the text has gone on by `num_committed` tokens."""
        ahead = {len(path): token for path, token in found.items()} or self._guesses
        self._guesses = {place - num_committed: token for place, token in ahead.items() if place >= num_committed}


def prefixes(path: Path) -> list[Path]:
    """All that are not empty."""
    return [path[: end + 1] for end in range(len(path))]
