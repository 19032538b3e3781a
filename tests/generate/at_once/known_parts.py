"""Parts of compiled rounds that a test knows, jobs as threads/ has them."""

from __future__ import annotations

import numba

from truedraw.protocol.slate import ACCEPTED, COUNT, DRAFTED
from truedraw.threads.board import share
from truedraw.threads.jobs import this_call


@numba.njit(nogil=True)
def draft(board, given, takes_part):
    """Tokens that count up from the last one; none behind a round that is said."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    numbers, last, tokens, sure, (silent, done) = given
    for k in range(len(tokens)):
        tokens[k], sure[k] = last[numbers[COUNT] - 1] + 1 + k, 0.5
    numbers[DRAFTED] = len(tokens) if done[0] != silent else 0
    done[0] += 1


@numba.njit(nogil=True)
def rule(board, given, takes_part):
    """One draft is kept, where there are any, and one more token comes; in a round that is said there is no law."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    ids, numbers, told, (lawless, done) = given
    count = min(2, len(ids))
    for k in range(count):
        token = ids[1 + k] if 1 + k < count else ids[0] + 100
        told[0, k], told[1, k], told[2, k], told[3, k] = token, k, -0.5, -1.5
    numbers[COUNT], numbers[ACCEPTED] = 0 if done[0] == lawless else count, count - 1
    done[0] += 1
