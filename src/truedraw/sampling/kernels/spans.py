"""The vocabulary cut into spans of 32 indices, and the largest value of each in one pass.

A tile is 2048 neighbours in 32 lines of 64; a span is a column of a tile, so that the largest values of 64 spans are
found side by side in vector registers, at the speed of reading. Index 2048 t + 64 j + c is place j of span 64 t + c.
"""

from __future__ import annotations

import numba
import numpy as np

from truedraw.sampling.kernels.rowkinds import value_at

SPAN = 32  # places: more means fewer spans to look at and more of them to look into
COLUMNS = 64  # spans of a tile
TILE = SPAN * COLUMNS
AT_ONCE = 16  # lines of a tile read before a maximum is stored


@numba.njit(error_model="numpy")
def num_spans(n):  # type: ignore[no-untyped-def]
    """Spans of a vocabulary of n, in whole tiles."""
    return (n + TILE - 1) // TILE * COLUMNS


@numba.njit(error_model="numpy")
def index(span, place):  # type: ignore[no-untyped-def]
    """The index at a place of a span."""
    return span // COLUMNS * TILE + place * COLUMNS + span % COLUMNS


@numba.njit(error_model="numpy")
def span_of(i):  # type: ignore[no-untyped-def]
    """(span, place) of an index."""
    return i // TILE * COLUMNS + i % COLUMNS, i % TILE // COLUMNS


@numba.njit(error_model="numpy")
def maxima(row, n, lowest, out):  # type: ignore[no-untyped-def]
    """The largest of `lowest` and the n values of each span, out [spans]; returns whether a value is NaN."""
    odd = np.zeros(COLUMNS, dtype=out.dtype)  # sums of value - value: 0, or NaN after a NaN or an infinity
    for tile in range(out.shape[0] // COLUMNS):
        first, best = tile * TILE, out[tile * COLUMNS : tile * COLUMNS + COLUMNS]
        best[:] = lowest
        if first + TILE <= n:
            for line in range(0, SPAN, AT_ONCE):
                several_lines(row, first + line * COLUMNS, best, odd)
        else:
            for low in range(first, n, COLUMNS):
                one_line(row, low, min(n - low, COLUMNS), best, odd)
    return np.isnan(odd).any() and any_nan(row, n)


@numba.njit(error_model="numpy")
def several_lines(row, first, best, odd):  # type: ignore[no-untyped-def]
    """AT_ONCE lines of a tile."""
    for c in range(COLUMNS):
        top, seen = best[c], odd[c]
        for line in range(AT_ONCE):
            value = value_at(row, first + line * COLUMNS + c)
            top = value if value > top else top
            seen += value - value
        best[c], odd[c] = top, seen


@numba.njit(error_model="numpy")
def one_line(row, first, width, best, odd):  # type: ignore[no-untyped-def]
    """A line, perhaps not a whole one."""
    for c in range(width):
        value = value_at(row, first + c)
        best[c] = value if value > best[c] else best[c]
        odd[c] += value - value


@numba.njit(error_model="numpy")
def any_nan(row, n):  # type: ignore[no-untyped-def]
    """Whether one of the n values is NaN."""
    nan = False
    for i in range(n):
        nan |= np.isnan(value_at(row, i))
    return nan


@numba.njit(error_model="numpy")
def largest(values):  # type: ignore[no-untyped-def]
    """The largest of values [spans]; no NaN."""
    best = values[:COLUMNS].copy()
    for first in range(COLUMNS, values.shape[0], COLUMNS):
        part = values[first : first + COLUMNS]
        for c in range(COLUMNS):
            best[c] = part[c] if part[c] > best[c] else best[c]
    return best.max()


@numba.njit(error_model="numpy")
def any_below(values, bound):  # type: ignore[no-untyped-def]
    """Whether one of COLUMNS values is below the bound; no branch inside."""
    below = 0
    for c in range(COLUMNS):
        below += values[c] < bound
    return below > 0
