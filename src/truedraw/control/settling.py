"""Passes behind a prompt: narrow ones take half as long again at first, as the wide one has pushed the weights out of
the caches. What a row count takes is learnt from others."""

from __future__ import annotations

MUCH = 20  # times as many rows in a pass that does so, a prompt's and no tree's
SETTLES = 16  # passes until narrow ones take what they did
PATIENCE = 64  # narrow ones that say nothing, after which all are learnt from: where texts are short none ever settles


class Settling:
    """Of one engine."""

    def __init__(self) -> None:
        self._widest = self._at = 0  # rows of the widest pass of late, and its number
        self._unsettled = 0  # narrow passes in a row that were none to learn from

    def is_over(self, rows: int, passes: int) -> bool:
        """Whether a pass of so many rows, behind so many passes, takes what such ones do."""
        return self._widest < MUCH * rows or passes - self._at >= SETTLES

    def saw(self, rows: int, passes: int) -> bool:
        """That pass came; whether to learn from it."""
        is_over = self.is_over(rows, passes)
        if not is_over:
            self._unsettled += 1
        elif rows < MUCH:
            self._unsettled = 0
        if rows >= self._widest or passes - self._at >= SETTLES:
            self._widest, self._at = rows, passes + 1
        return is_over or self._unsettled > PATIENCE
