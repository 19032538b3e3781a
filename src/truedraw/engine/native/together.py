"""What threads share of any network: products, and what is done to each row between them; a stage each, see stages.py.

`rounded` is what memory.room gives.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.blocks import LANES
from truedraw.engine.native.products import add_tiles, round_row
from truedraw.engine.native.softly import FREE, norm, silu
from truedraw.engine.native.stages import done, ended, next_piece

PIECES = 6  # that a matrix is shared out in, for each thread: one that is held up keeps the others waiting for so much


@inlined(fastmath=FREE, error_model="numpy")
def multiply(matrix, rounded, out, fresh, counters, stage, pieces):  # type: ignore[no-untyped-def]
    """out [n, outputs] += rounded rows times a matrix, Blocks; fresh: = instead. `pieces` of it, about."""
    tiles = len(matrix[0])
    each = max(1, tiles // pieces)
    count, whole = (tiles + each - 1) // each, np.empty((len(out), LANES), np.float32)
    piece = next_piece(counters, stage, count)
    while piece >= 0:
        add_tiles(matrix, rounded, out, fresh, piece * each, min(tiles, (piece + 1) * each), whole)
        piece = done(counters, stage, count)
    return ended(counters, stage, count)


@inlined(error_model="numpy")
def round_here(values, rounded, row):  # type: ignore[no-untyped-def]
    """One row of what memory.room gives."""
    numbers, steps, starts = rounded
    round_row(values, numbers.shape[1] // steps.shape[1], numbers[row], steps[row], starts[row])


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
