"""A matrix in blocks times rows of float32, which are rounded to int8 first, each block with a scale of its own."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inlined
from truedraw.engine.native.blocks import FACTORS, HALF, LANES, QUAD, QUARTER, START, STEP, ZERO
from truedraw.engine.native.grids import add_in_grids
from truedraw.engine.native.machine import magnitude, single
from truedraw.engine.native.nested import SIX_ZERO, placed
from truedraw.engine.native.softly import FREE, silu
from truedraw.engine.native.sums import ALL, FIRST_HALF, MOST_ROWS, SECOND_HALF, block_adder
from truedraw.threads.borrowing import flattened

MOST = np.float32(127)  # of an int8
LAST = 3  # quarter of a block
add_block = block_adder()


@inlined(fastmath=FREE, error_model="numpy")
def round_row(row, size, numbers, factors):  # type: ignore[no-untyped-def]
    """One row [inputs] as int8 [inputs of whole blocks], and factors [blocks, FACTORS] as blocks.py has them. What is
    no finite number leaves none in its block's products.

    Places are counted without a sign: numba looks whether a signed one is below 0, and makes no vectors then.
    """
    for block in range(len(factors)):
        first, held = np.uint64(block * size), min(size, len(row) - block * size)
        top = np.int32(0)
        for k in range(held):
            top = max(top, magnitude(row[first + np.uint64(k)]))  # of integers; that of NaN is above all others
        largest = single(top)
        step, whole = largest / MOST, np.int32(0)
        fine = MOST / largest if largest > 0 else np.float32(0)
        factors[block, STEP] = step
        for half in range(2):
            total = np.int32(0)
            for quarter in range(2 * half, 2 * half + 2):
                some, begin = np.int32(0), min(quarter * (size // 4), held)
                for k in range(begin, held if quarter == LAST else min((quarter + 1) * (size // 4), held)):
                    number = np.int8(np.int32(np.rint(row[first + np.uint64(k)] * fine)))
                    numbers[first + np.uint64(k)] = number
                    some += np.int32(number)  # of what is kept, also where that is no number
                factors[block, QUARTER + quarter] = single(np.int32(-SIX_ZERO * some))
                total += some
            factors[block, HALF + half] = step * np.float32(total)
            whole += total
        factors[block, START] = np.float32(-ZERO * whole)


@inlined(fastmath=FREE, error_model="numpy")
def add_tiles(  # type: ignore[no-untyped-def]
    matrix, rounded, out, fresh, begin, end, whole, grids
):
    """out [n, outputs] += the tiles begin .. end - 1 of a matrix times rounded rows; fresh: = instead. whole: room for
    float32 [n, LANES]; grids: see sum_up."""
    form = form_of(matrix, rounded)
    for tile in range(begin, end):
        sum_up(matrix, rounded, form, tile, whole, grids)
        lanes = min(LANES, out.shape[1] - tile * LANES)
        for row in range(len(whole)):
            target = out[row, tile * LANES : tile * LANES + lanes]
            for lane in range(lanes):
                target[lane] = whole[row, lane] + (np.float32(0) if fresh else target[lane])


@inlined(fastmath=FREE, error_model="numpy")
def gate_tiles(matrix, rounded, told, begin, end, whole, grids):  # type: ignore[no-untyped-def]
    """silu(g) u, rounded, of the tiles begin .. end - 1 of a matrix that has all tiles of g and then all of u. A tile
    is some blocks of what is told. whole: room for float32 [2, n, LANES]."""
    numbers, factors = told
    size, behind = numbers.shape[1] // factors.shape[1], len(matrix[0]) // 2
    form = form_of(matrix, rounded)
    for tile in range(begin, end):
        sum_up(matrix, rounded, form, tile, whole[0], grids)
        sum_up(matrix, rounded, form, behind + tile, whole[1], grids)
        first, last = tile * LANES, min((tile + 1) * LANES, numbers.shape[1])
        for row in range(len(numbers)):
            gates = whole[0, row, : last - first]
            for lane in range(len(gates)):
                gates[lane] = silu(gates[lane]) * whole[1, row, lane]
            round_row(gates, size, numbers[row, first:last], factors[row, first // size : last // size])


@inlined(error_model="numpy")
def form_of(matrix, rounded):  # type: ignore[no-untyped-def]
    """Quads of bytes of a block's codes, blocks of a row, a row's inputs, and those of a block."""
    blocks, width = matrix[0].shape[1], rounded[0].shape[1]
    return matrix[0].shape[2], blocks, width, width // blocks


@inlined(error_model="numpy")
def sum_up(matrix, rounded, form, tile, whole, grids):  # type: ignore[no-untyped-def]
    """whole [n, LANES] = one tile of a matrix times rounded rows, in so many grids of so many rows, if any, which are
    set up.

    Blocks are read in order, each for all rows: they come from far away, and rows are near.
    """
    codes, scales, blocks, each = flattened(matrix[0]), flattened(matrix[1]), form[1], form[0] * QUAD * LANES
    lines, factors, held = flattened(rounded[0]), flattened(rounded[1]), flattened(whole)
    whole[:] = np.float32(0)
    for block in range(blocks):
        here, scale = (tile * blocks + block) * each, placed(matrix[1], LANES, tile, block)
        if grids[0]:
            add_grids(codes, here, form, block, lines, factors, scales, scale, held, len(whole), grids)
        else:
            add_rows(codes, here, form, block, lines, factors, scales, scale, held, len(whole))


@inlined()
def add_rows(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    codes, first, form, block, lines, factors, scales, scale, whole, n
):
    """whole [n, LANES] += one block times its part of rounded rows; all flat, codes and scales from a place on.

    Of many rows the first and those behind them each ask for a half of what comes next, so that memory is never idle.
    """
    quads, blocks, width, size = form
    row = 0
    while row < n:
        rows = min(n - row, MOST_ROWS)
        share = ALL if n <= MOST_ROWS else FIRST_HALF if row == 0 else SECOND_HALF
        at, start, place = row * width + block * size, (row * blocks + block) * FACTORS, row * LANES
        add_block(
            rows, share, codes, first, lines, at, width, quads, factors, start, blocks * FACTORS, scales, scale[0],
            scale[1], whole, place,
        )  # fmt: skip
        row += rows


@inlined()
def add_grids(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    codes, first, form, block, lines, factors, scales, scale, whole, n, grids
):
    """The same in so many grids."""
    quads, blocks, width, size = form
    add_in_grids(
        n, grids[0], grids[1], codes, first, lines, block * size, width, quads, factors, block * FACTORS,
        blocks * FACTORS, scales, scale[0], scale[1], whole, 0,
    )  # fmt: skip


@compiled(error_model="numpy", nogil=True)
def looked_up(codes, scales, tokens):  # type: ignore[no-untyped-def]
    """float32 [n, width]: rows of a table of int8 [vocab, width] with scales [vocab, groups] of its columns."""
    out = np.empty((len(tokens), codes.shape[1]), np.float32)
    for row in range(len(tokens)):
        look_up(codes, scales, tokens[row], out[row])
    return out


@inlined(error_model="numpy")
def look_up(codes, scales, token, out):  # type: ignore[no-untyped-def]
    """One such row into out [width]."""
    group = codes.shape[1] // scales.shape[1]
    for k in range(len(out)):
        out[k] = np.float32(codes[token, k]) * scales[token, k // group]
