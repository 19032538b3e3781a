"""A matrix in blocks times a few rows of float32.

A row is rounded to 16 bits a block of its own scale, which is finer than the codes by a factor of 256.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.draft.head.kernels.blocks import LANES
from truedraw.draft.head.kernels.sums import block_sums

FREE = {"contract", "reassoc", "nsz"}
MOST = np.float32(32767)  # of an int16


@inner(fastmath=FREE, error_model="numpy")
def add_product(rows, matrix, out):  # type: ignore[no-untyped-def]
    """out [n, outputs] += rows [n, inputs] times a matrix, Blocks; all contiguous.

    Blocks are read in order, each for all rows: they come from far away, and rows are near.
    """
    codes, scales = matrix
    tiles, blocks, pairs = codes.shape[0], codes.shape[1], codes.shape[2]
    flat, size = codes.reshape(-1), pairs * LANES * 2
    numbers, steps = rounded(rows, blocks, 2 * pairs)
    sums = np.empty(LANES, np.int32)
    for tile in range(tiles):
        first = tile * LANES
        lanes = min(LANES, out.shape[1] - first)
        for block in range(blocks):
            for row in range(len(rows)):
                here = (row * blocks + block) * 2 * pairs
                block_sums(flat, (tile * blocks + block) * size, numbers, here, pairs, sums)
                step = steps[row, block]
                for lane in range(lanes):
                    out[row, first + lane] += np.float32(sums[lane]) * (scales[tile, block, lane] * step)


@inner(fastmath=FREE, error_model="numpy")
def rounded(rows, blocks, size):  # type: ignore[no-untyped-def]
    """int16 [n * blocks * size], zeros behind the end of a row, and float32 [n, blocks]: what 1 of them stands for."""
    numbers = np.zeros(len(rows) * blocks * size, np.int16)
    steps = np.empty((len(rows), blocks), np.float32)
    for row in range(len(rows)):
        for block in range(blocks):
            first = block * size
            held = min(size, rows.shape[1] - first)
            largest, odd = np.float32(0), 0
            for k in range(held):
                largest = max(largest, abs(rows[row, first + k]))
                odd += np.isnan(rows[row, first + k])
            steps[row, block] = np.nan if odd else largest / MOST
            fine = MOST / largest if largest > 0 else np.float32(0)
            for k in range(held):
                numbers[(row * blocks + block) * size + k] = np.int16(np.rint(rows[row, first + k] * fine))
    return numbers, steps


@compiled(error_model="numpy", nogil=True)
def looked_up(codes, scales, tokens):  # type: ignore[no-untyped-def]
    """float32 [n, width]: rows of a table of int8 [vocab, width] with scales [vocab, groups] of its columns."""
    width, group = codes.shape[1], codes.shape[1] // scales.shape[1]
    out = np.empty((len(tokens), width), np.float32)
    for row in range(len(tokens)):
        for k in range(width):
            out[row, k] = np.float32(codes[tokens[row], k]) * scales[tokens[row], k // group]
    return out
