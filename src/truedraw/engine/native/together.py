"""What threads share of any network: products, and what is done to each row between them; a stage each, see stages.py.

`rounded` is what memory.room gives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.blocks import LANES
from truedraw.engine.native.grid_code import ROWS as GRID_ROWS
from truedraw.engine.native.grids import grids_from, put_grids_away, set_up_grids
from truedraw.engine.native.products import add_tiles, round_row
from truedraw.engine.native.softly import FREE, norm, silu
from truedraw.engine.native.stages import done, ended, next_piece
from truedraw.sampling.kernels.bits import CACHE_LINE

PIECES = 6  # that a matrix is shared out in, for each thread: one that is held up keeps the others waiting for so much


class Ways(NamedTuple):
    """How a matrix is multiplied: in so many pieces, about, and from how many rows on in grids."""

    pieces: int
    grids_from: int


def ways(threads: int) -> Ways:
    """For so many threads, in this process."""
    return Ways(PIECES * threads, grids_from())


@inlined(fastmath=FREE, error_model="numpy")
def multiply(matrix, rounded, out, fresh, counters, stage, ways):  # type: ignore[no-untyped-def]
    """out [n, outputs] += rounded rows times a matrix, Blocks; fresh: = instead. ways: Ways."""
    tiles, grids = len(matrix[0]), (0, 0)
    if len(out) >= ways.grids_from:
        count = (len(out) + GRID_ROWS - 1) // GRID_ROWS
        grids = count, (len(out) + count - 1) // count
        set_up_grids(grids[1], matrix[0].shape[2])
    each = max(1, tiles // ways.pieces)
    count, whole = (tiles + each - 1) // each, from_a_line_on(len(out), LANES)
    piece = next_piece(counters, stage, count)
    while piece >= 0:
        add_tiles(matrix, rounded, out, fresh, piece * each, min(tiles, (piece + 1) * each), whole, grids)
        piece = done(counters, stage, count)
    if grids[0]:
        put_grids_away()
    return ended(counters, stage, count)


@inlined()
def from_a_line_on(rows, columns):  # type: ignore[no-untyped-def]
    """float32 [rows, columns] that begin where a line of the cache does: vectors lie in one line each."""
    line = CACHE_LINE // 4
    whole = np.empty(rows * columns + line, np.float32)
    first = -(whole.ctypes.data // 4) % line
    return whole[first : first + rows * columns].reshape(rows, columns)


@inlined(error_model="numpy")
def round_here(values, rounded, row):  # type: ignore[no-untyped-def]
    """One row of what memory.room gives."""
    numbers, factors = rounded
    round_row(values, numbers.shape[1] // factors.shape[1], numbers[row], factors[row])


@inlined(fastmath=FREE, error_model="numpy")
def norm_all(x, gain, epsilon, rounded, counters, stage):  # type: ignore[no-untyped-def]
    """Normed rows, rounded."""
    room = np.empty(x.shape[1], np.float32)
    row = next_piece(counters, stage, len(x))
    while row >= 0:
        norm(x[row], gain, epsilon, room)
        round_here(room, rounded, row)
        row = done(counters, stage, len(x))
    return ended(counters, stage, len(x))


@inlined(error_model="numpy")
def round_all(values, rounded, counters, stage):  # type: ignore[no-untyped-def]
    """Rows as they are, rounded."""
    row = next_piece(counters, stage, len(values))
    while row >= 0:
        round_here(values[row], rounded, row)
        row = done(counters, stage, len(values))
    return ended(counters, stage, len(values))


@inlined(fastmath=FREE, error_model="numpy")
def gate_all(inside, rounded, counters, stage):  # type: ignore[no-untyped-def]
    """silu(g) u of rows that have all g and then all u, rounded."""
    half = inside.shape[1] // 2
    room = np.empty(half, np.float32)
    row = next_piece(counters, stage, len(inside))
    while row >= 0:
        for k in range(half):
            room[k] = silu(inside[row, k]) * inside[row, half + k]
        round_here(room, rounded, row)
        row = done(counters, stage, len(inside))
    return ended(counters, stage, len(inside))
