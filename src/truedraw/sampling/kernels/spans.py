"""The vocabulary cut into spans of 32 indices, and the largest value of each in one pass.

A tile is 2048 neighbours in 32 lines of 64; a span is a column of a tile, so that the largest values of 64 spans are
found side by side in vector registers, at the speed of reading. Index 2048 t + 64 j + c is place j of span 64 t + c.
"""

# ruff: noqa: ARG001, PLW0108 - numba matches the arguments of overloads by name, and takes plain functions for them

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from truedraw.compiled import inner
from truedraw.sampling.kernels.bits import FETCHED, larger, long_vectors
from truedraw.sampling.kernels.columns import can_be_read, column_maxima
from truedraw.sampling.kernels.rowkinds import fetch, value_at

SPAN = 32  # places: more means fewer spans to look at and more of them to look into
COLUMNS = 64  # spans of a tile
TILE = SPAN * COLUMNS
IN_ORDER = column_maxima(SPAN, COLUMNS)
AT_ONCE = 16  # lines of a tile read before a maximum is stored, where memory is asked for half a tile ahead


@inner(error_model="numpy")
def num_spans(n):  # type: ignore[no-untyped-def]
    """Spans of a vocabulary of n, in whole tiles."""
    return (n + TILE - 1) // TILE * COLUMNS


@inner(error_model="numpy")
def index(span, place):  # type: ignore[no-untyped-def]
    """The index at a place of a span."""
    return (span & -COLUMNS) * SPAN + place * COLUMNS + (span & COLUMNS - 1)


@inner(error_model="numpy")
def span_of(i):  # type: ignore[no-untyped-def]
    """(span, place) of an index."""
    return i // TILE * COLUMNS + i % COLUMNS, i % TILE // COLUMNS


@inner(error_model="numpy")
def maxima(row, n, lowest, out):  # type: ignore[no-untyped-def]
    """The largest of `lowest` and the n values of each span, out [spans]; returns whether a value is NaN."""
    return maxima_of(row, n, lowest, out, 0, out.shape[0] // COLUMNS, np.empty(COLUMNS, dtype=out.dtype))


@inner(error_model="numpy")
def maxima_of(row, n, lowest, out, begin, end, odd):  # type: ignore[no-untyped-def]
    """The same of the tiles begin .. end - 1; returns whether one of all n values is NaN, if one of theirs may be.

    odd [COLUMNS]: memory for sums, which are NaN after a NaN, and after infinities of both signs. Nobody asks for more:
    a thread that helps another one may not fail.
    """
    long_vectors()
    for c in range(COLUMNS):
        odd[c] = 0.0
    for tile in range(begin, end):
        first, at = tile * TILE, np.uint64(tile * COLUMNS)
        for c in range(COLUMNS):
            out[at + np.uint64(c)] = lowest
        if first + TILE <= n:
            whole_tile(row, first, out, at, odd)
        else:
            for low in range(first, n, COLUMNS):
                one_line(row, low, min(n - low, COLUMNS), out, at, odd)
    return any_nan(odd, COLUMNS) and any_nan(row, n)


def whole_tile(row: Any, first: Any, out: Any, at: Any, odd: Any) -> None:
    """All lines of a tile that begins at index `first` of the row and whose spans begin at `at`. For compiled code."""
    raise NotImplementedError


@overload(whole_tile)
def _whole_tile(row, first, out, at, odd):  # type: ignore[no-untyped-def]
    if can_be_read(row, out, odd):
        return lambda row, first, out, at, odd: IN_ORDER(row, np.uint64(first), out, at, odd)
    return lambda row, first, out, at, odd: line_by_line(row, first, out, at, odd)


@inner(error_model="numpy")
def line_by_line(row, first, out, at, odd):  # type: ignore[no-untyped-def]
    """The same in loops that the compiler turns into vectors, of rows of any kind."""
    for line in range(0, SPAN, AT_ONCE):
        for ahead in range(AT_ONCE * COLUMNS, 2 * AT_ONCE * COLUMNS, FETCHED):
            fetch(row, first + line * COLUMNS + ahead)
        several_lines(row, first + line * COLUMNS, out, at, odd)


@inner(error_model="numpy")
def several_lines(row, first, out, at, odd):  # type: ignore[no-untyped-def]
    """AT_ONCE lines of a tile, whose spans start at `at`."""
    long_vectors()
    for c in range(COLUMNS):
        span = at + np.uint64(c)
        top, seen = out[span], odd[c]
        for line in range(AT_ONCE):
            value = value_at(row, first + line * COLUMNS + c)
            top = value if value > top else top
            seen += value
        out[span], odd[c] = top, seen


@inner(error_model="numpy")
def one_line(row, first, width, out, at, odd):  # type: ignore[no-untyped-def]
    """A line, perhaps not a whole one."""
    for c in range(width):
        value, span = value_at(row, first + c), at + np.uint64(c)
        out[span] = value if value > out[span] else out[span]
        odd[c] += value


@inner(error_model="numpy")
def any_nan(row, n):  # type: ignore[no-untyped-def]
    """Whether one of the n values is NaN."""
    nan = False
    for i in range(n):
        nan |= np.isnan(value_at(row, i))
    return nan


@inner(error_model="numpy")
def largest(values):  # type: ignore[no-untyped-def]
    """The largest of values [spans]; no NaN."""
    best = values[0]
    for span in range(values.shape[0]):
        best = larger(best, values[span])
    return best


@inner(error_model="numpy")
def below(values, first, bound):  # type: ignore[no-untyped-def]
    """Which of COLUMNS values, from the first on, are below the bound, as the bits of a word."""
    found = np.uint64(0)
    for c in range(COLUMNS):
        found |= np.uint64(1) << np.uint64(c) if values[np.uint64(first + c)] < bound else np.uint64(0)
    return found
