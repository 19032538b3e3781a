"""What threads share of any network: products, and what is done to each row between them. Each is a stage, see
threads/stages.py, but for what is done to few rows, which each thread does for itself.

`rounded` is what memory.room gives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truedraw.compiled import apart, inlined
from truedraw.engine.native.blocks import FACTORS, LANES
from truedraw.engine.native.grid_code import ROWS as GRID_ROWS
from truedraw.engine.native.grids import goes_through_grids, grids_from, put_grids_away, set_up_grids
from truedraw.engine.native.products import add_tiles, gate_tiles, round_row
from truedraw.engine.native.softly import FREE, norm
from truedraw.sampling.kernels.bits import CACHE_LINE
from truedraw.threads.stages import done, ended, next_piece, num_stretches, stretch

FEW, CROWD, FEW_IN_A_CROWD = 64, 4, 4
"""Rows that each thread norms and rounds for itself: to have a row from another one takes about as long as four of its
own, so that more than so many threads do it for fewer rows."""


class Ways(NamedTuple):
    """How a matrix is multiplied: by so many threads, from so many rows on in grids; `ways` asks for these first. And
    how many rows each thread norms and rounds for itself."""

    threads: int
    grids_from: int
    few: int


def ways(threads: int) -> Ways:
    """For so many threads, in this process."""
    return Ways(threads, grids_from(), FEW if threads <= CROWD else FEW_IN_A_CROWD)


@apart(fastmath=FREE, error_model="numpy")
def multiply(matrix, rounded, out, fresh, counters, stage, ways):  # type: ignore[no-untyped-def]
    """out [n, outputs] += rounded rows times a matrix, Blocks; fresh: = instead. ways: Ways."""
    grids = begun(matrix, rounded, ways)
    tiles, whole = len(matrix[0]), from_a_line_on(len(out), LANES)
    count = num_stretches(tiles, ways.threads)
    piece = next_piece(counters, stage, count)
    while piece >= 0:
        begin, end = stretch(piece, tiles, ways.threads)
        add_tiles(matrix, rounded, out, fresh, begin, end, whole, grids)
        piece = done(counters, stage, count)
    if grids[0]:
        put_grids_away()
    return ended(counters, stage, count)


@apart(fastmath=FREE, error_model="numpy")
def multiply_gated(matrix, rounded, told, counters, stage, ways):  # type: ignore[no-untyped-def]
    """silu(g) u, rounded rows as well, of g and u = rounded rows times a matrix, see products.gate_tiles."""
    grids = begun(matrix, rounded, ways)
    tiles, n = len(matrix[0]) // 2, len(rounded[0])
    whole = from_a_line_on(2 * n, LANES).reshape(2, n, LANES)
    count = num_stretches(tiles, ways.threads)
    piece = next_piece(counters, stage, count)
    while piece >= 0:
        begin, end = stretch(piece, tiles, ways.threads)
        gate_tiles(matrix, rounded, told, begin, end, whole, grids)
        piece = done(counters, stage, count)
    if grids[0]:
        put_grids_away()
    return ended(counters, stage, count)


@inlined()
def begun(matrix, rounded, ways):  # type: ignore[no-untyped-def]
    """How many grids the rows of a product go through, and rows in each, set up for it; (0, 0): none."""
    n = len(rounded[0])
    if n < ways.grids_from or not goes_through_grids(matrix[0], matrix[1]):
        return 0, 0
    count = (n + GRID_ROWS - 1) // GRID_ROWS
    each = (n + count - 1) // count
    set_up_grids(each, matrix[0].shape[2])
    return count, each


@inlined()
def from_a_line_on(rows, columns):  # type: ignore[no-untyped-def]
    """float32 [rows, columns] that begin where a line of the cache does: vectors lie in one line each."""
    line = CACHE_LINE // 4
    whole = np.empty(rows * columns + line, np.float32)
    first = -(whole.ctypes.data // 4) % line
    return whole[first : first + rows * columns].reshape(rows, columns)


@inlined(error_model="numpy")
def copy(values, out):  # type: ignore[no-untyped-def]
    """values [n] into out [n]. numba's own assignment would bring an error message, and seconds of compiling for it."""
    for k in range(len(out)):
        out[k] = values[k]


@inlined(error_model="numpy")
def round_here(values, rounded, row):  # type: ignore[no-untyped-def]
    """One row of what memory.room gives."""
    round_part(values, rounded, row, 0, rounded[0].shape[1])


@inlined(error_model="numpy")
def round_part(values, rounded, row, first, last):  # type: ignore[no-untyped-def]
    """Whole blocks of it, from input `first` on."""
    numbers, factors = rounded
    size = numbers.shape[1] // factors.shape[1]
    round_row(values[first:last], size, numbers[row, first:last], factors[row, first // size : last // size])


@inlined(error_model="numpy")
def own(rounded, ways):  # type: ignore[no-untyped-def]
    """Memory for as many rounded rows, of the thread that asks: for few of them; of more, for none. See `own_or`."""
    numbers, factors = rounded
    n = len(numbers) if len(numbers) <= ways.few else 0
    room = np.zeros((n + GRID_ROWS - 1, numbers.shape[1]), np.int8)  # as memory.room has it
    return room[:n], np.empty((n, factors.shape[1], FACTORS), np.float32)


@inlined(error_model="numpy")
def own_or(mine, rounded):  # type: ignore[no-untyped-def]
    """Where rows are to be rounded: in the thread's own memory, if it has any, else in everybody's."""
    return mine if len(mine[0]) else rounded


@apart(fastmath=FREE, error_model="numpy")
def norm_each(x, gain, epsilon, rounded, counters, stage, ways):  # type: ignore[no-untyped-def]
    """Normed rows, rounded: `own_or` is where. Few of them are no stage."""
    if len(x) > ways.few:
        return norm_all(x, gain, epsilon, rounded, counters, stage)
    room = np.empty(x.shape[1], np.float32)
    for row in range(len(x)):
        norm(x[row], gain, epsilon, room)
        round_here(room, rounded, row)
    return stage


@apart(error_model="numpy")
def round_each(values, rounded, counters, stage, ways):  # type: ignore[no-untyped-def]
    """Rows as they are, rounded, likewise."""
    if len(values) > ways.few:
        return round_all(values, rounded, counters, stage)
    for row in range(len(values)):
        round_here(values[row], rounded, row)
    return stage


@apart(fastmath=FREE, error_model="numpy")
def norm_all(x, gain, epsilon, rounded, counters, stage):  # type: ignore[no-untyped-def]
    """Normed rows, rounded, for everybody."""
    room = np.empty(x.shape[1], np.float32)
    row = next_piece(counters, stage, len(x))
    while row >= 0:
        norm(x[row], gain, epsilon, room)
        round_here(room, rounded, row)
        row = done(counters, stage, len(x))
    return ended(counters, stage, len(x))


@apart(error_model="numpy")
def round_all(values, rounded, counters, stage):  # type: ignore[no-untyped-def]
    """Rows as they are, rounded, for everybody."""
    row = next_piece(counters, stage, len(values))
    while row >= 0:
        round_here(values[row], rounded, row)
        row = done(counters, stage, len(values))
    return ended(counters, stage, len(values))
