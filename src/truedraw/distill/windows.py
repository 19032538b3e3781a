"""The rows of one training step: a few windows of neighbouring rows, chosen by the step's number alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.rows import WINDOWS, Rows
from truedraw.protocol import Ints

LENGTH = 128  # rows of a window
POSITIONS = 3  # drafts behind each row that are learnt, where one step serves all
FEWER_FROM = 3  # the position from which half of the windows do
STREAM = 1  # of random numbers, beside the seed: windows


@dataclass(frozen=True, slots=True)
class Windows:
    """rows [windows, length] where drafts begin, in one or more texts."""

    rows: Ints
    data: Rows

    def behind(self, position: int, windows: int | None = None) -> Ints:
        """The rows of draft number `position`, from 1: their token is that draft, the law behind them the next's."""
        return self.rows[:windows] + position

    def counts(self, position: int, windows: int | None = None) -> NDArray[np.bool_]:
        """[windows, length]: whether the text goes on so far, and is none that is held out."""
        here, there = self.rows[:windows], self.behind(position, windows)
        return np.asarray((self.data.texts[here] == self.data.texts[there]) & ~self.data.held[here])


def windows(data: Rows, seed: int, step: int, positions: int = POSITIONS, length: int = LENGTH) -> Windows:
    """Those of a step, for drafts of so many positions; of longer ones there are fewer, and as many rows.

    As nothing else is needed to draw them, a run that goes on has the ones it would have had.
    """
    count, length = max(data.windows * LENGTH // length, 1), min(length, data.count - positions)
    chance = np.random.default_rng((seed, STREAM, step))
    starts = chance.integers(0, data.count - positions - length + 1, count)
    return Windows(starts[:, None] + np.arange(length)[None], data)


def num_windows(position: int, windows: int = WINDOWS) -> int:
    """Of a step of so many that learn this position: later ones matter less, and cost as much."""
    return windows if position < FEWER_FROM else -(-windows // 2)
