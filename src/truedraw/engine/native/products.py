"""A matrix in blocks times rows of float32, which are rounded to int8 first, each block with a scale of its own."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.engine.native.blocks import LANES, QUAD, ZERO
from truedraw.engine.native.sums import MOST_ROWS, block_sums

FREE = {"contract", "reassoc", "nsz"}
MOST = np.float32(127)  # of an int8
four, two, one = block_sums(MOST_ROWS), block_sums(2), block_sums(1)


@inner(fastmath=FREE, error_model="numpy")
def add_product(rows, matrix, out):  # type: ignore[no-untyped-def]
    """out [n, outputs] += rows [n, inputs] times a matrix, Blocks; all contiguous."""
    codes = matrix[0]
    blocks, size = codes.shape[1], codes.shape[2] * QUAD
    numbers, steps, starts = room(len(rows), blocks, size)
    for row in range(len(rows)):
        round_row(rows[row], size, numbers[row], steps[row], starts[row])
    add_tiles(matrix, (numbers, steps, starts), out, False, 0, len(codes), sums_of(len(rows)))


@inner()
def room(rows, blocks, size):  # type: ignore[no-untyped-def]
    """For rounded rows: int8 [rows, blocks size], what 1 of them stands for [rows, blocks], int32 [rows, blocks].

    The last is what makes up for codes that are ZERO too large: -ZERO times the sum of a block.
    """
    return (
        np.zeros((rows, blocks * size), np.int8),
        np.empty((rows, blocks), np.float32),
        np.empty((rows, blocks), np.int32),
    )


@inner()
def sums_of(rows):  # type: ignore[no-untyped-def]
    """Memory for the sums of a tile: float32 [rows, LANES], and int32 of a block [MOST_ROWS, LANES]."""
    return np.empty((rows, LANES), np.float32), np.empty((MOST_ROWS, LANES), np.int32)


@inner(fastmath=FREE, error_model="numpy")
def round_row(row, size, numbers, steps, starts):  # type: ignore[no-untyped-def]
    """One row [inputs], as `room` has it; what is no number makes its block none."""
    for block in range(len(steps)):
        first = block * size
        held = min(size, len(row) - first)
        largest, odd = np.float32(0), 0
        for k in range(held):
            largest = max(largest, abs(row[first + k]))
            odd += np.isnan(row[first + k])
        steps[block] = np.nan if odd else largest / MOST
        fine = MOST / largest if largest > 0 else np.float32(0)
        total = 0
        for k in range(held):
            numbers[first + k] = np.int8(np.rint(row[first + k] * fine))
            total += numbers[first + k]
        starts[block] = -ZERO * total


@inner(fastmath=FREE, error_model="numpy")
def add_tiles(matrix, rounded, out, fresh, begin, end, sums_here):  # type: ignore[no-untyped-def]
    """out [n, outputs] += the tiles begin .. end - 1 of a matrix times rounded rows; fresh: = instead.

    Blocks are read in order, each for all rows: they come from far away, and rows are near. sums_here: see sums_of.
    """
    codes, scales = matrix
    numbers, steps, starts = rounded
    n, blocks, quads = len(numbers), codes.shape[1], codes.shape[2]
    flat, lines, firsts = codes.reshape(-1), numbers.reshape(-1), starts.reshape(-1)
    width, own = blocks * quads * QUAD, scales.shape[1] > 1
    whole, sums = sums_here
    for tile in range(begin, end):
        lanes = min(LANES, out.shape[1] - tile * LANES)
        whole[:] = np.float32(0)
        for block in range(blocks):
            here, scale = (tile * blocks + block) * quads * QUAD * LANES, scales[tile, block if own else 0]
            row = 0
            while row < n:
                at, start = row * width + block * quads * QUAD, row * blocks + block
                if n - row >= MOST_ROWS:
                    four(flat, here, lines, at, width, quads, firsts, start, blocks, sums)
                    count = MOST_ROWS
                elif n - row >= 2:
                    two(flat, here, lines, at, width, quads, firsts, start, blocks, sums)
                    count = 2
                else:
                    one(flat, here, lines, at, width, quads, firsts, start, blocks, sums)
                    count = 1
                for each in range(count):
                    step = steps[row + each, block]
                    for lane in range(LANES):
                        whole[row + each, lane] += np.float32(sums[each, lane]) * (scale[lane] * step)
                row += count
        for row in range(n):
            for lane in range(lanes):
                before = np.float32(0) if fresh else out[row, tile * LANES + lane]
                out[row, tile * LANES + lane] = before + whole[row, lane]


@compiled(error_model="numpy", nogil=True)
def looked_up(codes, scales, tokens):  # type: ignore[no-untyped-def]
    """float32 [n, width]: rows of a table of int8 [vocab, width] with scales [vocab, groups] of its columns."""
    out = np.empty((len(tokens), codes.shape[1]), np.float32)
    for row in range(len(tokens)):
        look_up(codes, scales, tokens[row], out[row])
    return out


@inner(error_model="numpy")
def look_up(codes, scales, token, out):  # type: ignore[no-untyped-def]
    """One such row into out [width]."""
    group = codes.shape[1] // scales.shape[1]
    for k in range(len(out)):
        out[k] = np.float32(codes[token, k]) * scales[token, k // group]
