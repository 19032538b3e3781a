"""A job that wants more memory than there is."""

from __future__ import annotations

import numba
import numpy as np

from truedraw.threads.board import share
from truedraw.threads.jobs import this_call


@numba.njit(nogil=True)
def hoard(board, given, takes_part):
    """There is no such memory."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    numbers, size = given
    numbers[0] = len(np.empty(size))
