"""What every draw asks of a row: the largest value of each span, and the sum of its weights. Threads share that.

These passes are most of what a draw takes, and behind a pass of the model other threads still look for work. Nobody is
woken; who has come is waited for, and so must not fail: no piece asks for memory. No bit depends on who takes part.
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.spans import COLUMNS, TILE, largest, maxima_of
from truedraw.sampling.kernels.totals import PART, num_parts, total_of_part, two_totals_of_part
from truedraw.threads.board import is_attended, share
from truedraw.threads.borrowing import alive, borrowed
from truedraw.threads.jobs import this_call
from truedraw.threads.stages import WORDS, done, ended, next_piece

SHARED = 2 * PART  # values, from which on threads share
TOP, TOTAL, PLAIN = range(3)  # of what is found in a part
SPANS = PART // TILE * COLUMNS  # of a part
COUNTERS = 2 * WORDS  # of two stages


@inner(error_model="numpy")
def survey(values, coldness, tops, board):  # type: ignore[no-untyped-def]
    """(top, total, plain) of values [n]: the largest, NaN where one is NaN; the sums of the weights at a coldness and
    at 1, which are nothing where that is not finite. tops [spans]: the largest of the spans. board: see threads/."""
    n = values.shape[0]
    parts = num_parts(n)
    memory = np.empty((parts, 3)), np.zeros(COUNTERS, np.int64), np.empty((parts, COLUMNS), dtype=tops.dtype)
    given = borrowed((values, tops, memory[0], memory[1], memory[2], coldness))
    survey_parts(board, given, n < SHARED or not is_attended(board))
    top, total, plain = top_of_parts(memory[0]), 0.0, 0.0
    for part in range(parts):
        total += memory[0][part, TOTAL]
        plain += memory[0][part, PLAIN]
    alive(memory)
    return top, total, plain


@inner(error_model="numpy")
def survey_parts(board, given, takes_part):  # type: ignore[no-untyped-def]
    """A job as threads/board.py has them: first the largest values of all parts, then their sums."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    values, tops, found, counters, odd, coldness = given
    parts, n = found.shape[0], values.shape[0]
    part = next_piece(counters, 0, parts)
    while part >= 0:
        found[part, TOP] = top_of_part(values, n, part, tops, odd[part])
        part = done(counters, 0, parts)
    stage = ended(counters, 0, parts)
    top = top_of_parts(found)
    if not np.isfinite(top):
        return
    part = next_piece(counters, stage, parts)
    while part >= 0:
        weigh(values, part, top, coldness, found)
        part = done(counters, stage, parts)
    ended(counters, stage, parts)


@inner(error_model="numpy")
def top_of_part(values, n, part, tops, odd):  # type: ignore[no-untyped-def]
    """The largest value of a part, NaN where the row has one; tops: of its spans. odd: see spans.maxima_of."""
    begin, end = part * SPANS, min((part + 1) * SPANS, tops.shape[0])
    nan = maxima_of(values, n, -np.inf, tops, begin // COLUMNS, end // COLUMNS, odd)
    return np.nan if nan else np.float64(largest(tops[begin:end]))


@inner(error_model="numpy")
def top_of_parts(found):  # type: ignore[no-untyped-def]
    """Of all of them, NaN where one is NaN."""
    top = -math.inf
    for part in range(found.shape[0]):
        here = found[part, TOP]
        top = here if here > top or np.isnan(here) else top
        if np.isnan(top):
            break
    return top


@inner(error_model="numpy")
def weigh(values, part, top, coldness, found):  # type: ignore[no-untyped-def]
    """The sums of a part."""
    if coldness == 1.0:
        found[part, TOTAL] = found[part, PLAIN] = total_of_part(values, part, top, 1.0)
    else:
        found[part, TOTAL], found[part, PLAIN] = two_totals_of_part(values, part, top, coldness)
