"""A job that compiled code does again and again, with nobody to hand it over: its function and what that is given keep
their addresses, and what lies in the arrays that it was given changes in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.threads.atomics import WORD
from truedraw.threads.board import AWAKE, CODE, GIVEN, KEEPS, OWNER

MOST_WORDS = 1 << 12  # that a job is given: 500 arrays of two axes


class Kept:
    """A job as board.py has them, `given` that; `addresses` are what board.together takes, while this is held, and with
    it others that the job calls by their addresses."""

    def __init__(self, job: Callable[[Any, Any, bool], None], given: tuple[Any, ...], others: object = None) -> None:
        self._board: NDArray[np.int64] = np.zeros(AWAKE + MOST_WORDS, np.int64)
        self._board[OWNER] = KEEPS
        self._given, self._others = given, others
        job(self._board, given, False)
        words = int(self._board[GIVEN])
        if words > MOST_WORDS:
            raise ValueError(f"a job is given {words} words; {MOST_WORDS} are kept at most")
        self.addresses = int(self._board[CODE]), self._board.ctypes.data + AWAKE * WORD
