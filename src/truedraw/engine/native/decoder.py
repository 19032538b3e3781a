"""A whole pass of a llama, qwen2 or qwen3 model: what each thread runs. Stages are as stages.py has them.

    x = embedding[ids]
    each layer:  x += o(attention(rotate(qkv(norm(x)))));  x += down(silu(gate(norm(x))) * up(norm(x)))
    logits = head(norm(x[logit rows]))

What is in the tuples, and its shapes, stands in runner.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.engine.native.attending import look_back, remember
from truedraw.engine.native.blocks import LANES
from truedraw.engine.native.products import FREE, add_tiles, look_up, round_row
from truedraw.engine.native.softly import silu
from truedraw.engine.native.stages import done, ended, next_piece
from truedraw.sampling.kernels.bits import borrowed

STAGES_A_LAYER, STAGES_BESIDE = 11, 4


@compiled(fastmath=FREE, error_model="numpy", nogil=True)
def compute(model, rows, lanes, cache, memory, counters, pieces):  # type: ignore[no-untyped-def]
    """One thread's part of a pass. pieces: that the tiles of a matrix are shared out in, about."""
    model, rows, lanes, cache, memory = borrowed((model, rows, lanes, cache, memory))
    counters = borrowed(counters)
    table, matrices, vectors, sizes, shown, epsilon = model
    before_attention, before_feeding, bias, query_norm, key_norm, last_norm = vectors
    ids, logit_rows, hidden_rows = rows[0], rows[2], rows[3]
    x, wide, mixed, inside, logits, hidden, narrow, heads, feeding, gated, final = memory
    qkv, out, up, down, head = matrices
    stage, told = embed(table, ids, x, counters, 0), 0
    for layer in range(len(qkv[0])):
        stage = begin_layer(x, before_attention[layer], bias[layer], epsilon, narrow, wide, counters, stage)
        stage = multiply(qkv, layer, narrow, wide, False, counters, stage, pieces)
        keys = cache[2 * layer].reshape(cache.shape[1], sizes[1], sizes[2], -1)
        values = cache[2 * layer + 1].reshape(cache.shape[1], sizes[1], -1, sizes[2])
        stage = remember(wide, key_norm[layer], sizes, epsilon, rows, lanes, keys, values, counters, stage)
        stage = look_back(wide, query_norm[layer], sizes, epsilon, rows, lanes, keys, values, mixed, counters, stage)
        stage = round_all(mixed, heads, counters, stage)
        stage = multiply(out, layer, heads, x, False, counters, stage, pieces)
        stage = norm_all(x, before_feeding[layer], epsilon, feeding, counters, stage)
        stage = multiply(up, layer, feeding, inside, True, counters, stage, pieces)
        stage = gate_all(inside, gated, counters, stage)
        stage = multiply(down, layer, gated, x, False, counters, stage, pieces)
        if told < len(shown) and shown[told] == layer:
            stage = show(x, hidden_rows, hidden, told, counters, stage)
            told += 1
    stage = end(x, last_norm, epsilon, logit_rows, hidden_rows, hidden, told, final, counters, stage)
    return multiply(head, 0, final, logits, True, counters, stage, pieces)


@inner(error_model="numpy")
def embed(table, ids, x, counters, stage):  # type: ignore[no-untyped-def]
    """x [n, width] = rows of the table (int8 codes, scales of groups of columns)."""
    codes, scales = table
    row = next_piece(counters, stage, len(ids))
    while row >= 0:
        look_up(codes, scales, ids[row], x[row])
        row = done(counters, stage, len(ids))
    return ended(counters, stage, len(ids))


@inner(fastmath=FREE, error_model="numpy")
def multiply(matrices, layer, rounded, out, fresh, counters, stage, pieces):  # type: ignore[no-untyped-def]
    """out [n, outputs] += rounded rows times the matrix of a layer; fresh: = instead."""
    matrix = matrices[0][layer], matrices[1][layer]
    tiles = len(matrix[0])
    each = max(1, tiles // pieces)
    count, whole = (tiles + each - 1) // each, np.empty((len(out), LANES), np.float32)
    piece = next_piece(counters, stage, count)
    while piece >= 0:
        add_tiles(matrix, rounded, out, fresh, piece * each, min(tiles, (piece + 1) * each), whole)
        piece = done(counters, stage, count)
    return ended(counters, stage, count)


@inner(fastmath=FREE, error_model="numpy")
def begin_layer(x, gain, bias, epsilon, narrow, wide, counters, stage):  # type: ignore[no-untyped-def]
    """Normed rows, rounded, and what their queries, keys and values begin with: a bias, or 0."""
    room = np.empty(x.shape[1], np.float32)
    row = next_piece(counters, stage, len(x))
    while row >= 0:
        norm(x[row], gain, epsilon, room)
        round_here(room, narrow, row)
        wide[row] = np.float32(0)
        for k in range(len(bias)):
            wide[row, k] = bias[k]
        row = done(counters, stage, len(x))
    return ended(counters, stage, len(x))


@inner(fastmath=FREE, error_model="numpy")
def norm_all(x, gain, epsilon, rounded, counters, stage):  # type: ignore[no-untyped-def]
    """Normed rows, rounded."""
    room = np.empty(x.shape[1], np.float32)
    row = next_piece(counters, stage, len(x))
    while row >= 0:
        norm(x[row], gain, epsilon, room)
        round_here(room, rounded, row)
        row = done(counters, stage, len(x))
    return ended(counters, stage, len(x))


@inner(error_model="numpy")
def round_all(values, rounded, counters, stage):  # type: ignore[no-untyped-def]
    """Rows as they are, rounded."""
    row = next_piece(counters, stage, len(values))
    while row >= 0:
        round_here(values[row], rounded, row)
        row = done(counters, stage, len(values))
    return ended(counters, stage, len(values))


@inner(fastmath=FREE, error_model="numpy")
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


@inner(error_model="numpy")
def show(x, hidden_rows, hidden, number, counters, stage):  # type: ignore[no-untyped-def]
    """The residual stream of some rows."""
    row = next_piece(counters, stage, len(hidden_rows))
    while row >= 0:
        hidden[row, number] = x[hidden_rows[row]]
        row = done(counters, stage, len(hidden_rows))
    return ended(counters, stage, len(hidden_rows))


@inner(fastmath=FREE, error_model="numpy")
def end(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    x, gain, epsilon, logit_rows, hidden_rows, hidden, told, final, counters, stage
):
    """The last norm: of logit rows, rounded, and of hidden rows as they are."""
    room = np.empty(x.shape[1], np.float32)
    wanted = len(logit_rows)
    piece = next_piece(counters, stage, wanted + len(hidden_rows))
    while piece >= 0:
        if piece < wanted:
            norm(x[logit_rows[piece]], gain, epsilon, room)
            round_here(room, final, piece)
        else:
            norm(x[hidden_rows[piece - wanted]], gain, epsilon, hidden[piece - wanted, told])
        piece = done(counters, stage, wanted + len(hidden_rows))
    return ended(counters, stage, wanted + len(hidden_rows))


@inner(fastmath=FREE, error_model="numpy")
def norm(row, gain, epsilon, out):  # type: ignore[no-untyped-def]
    """x / rms(x) * gain of one row."""
    squares = np.float32(0)
    for k in range(len(row)):
        squares += row[k] * row[k]
    factor = np.float32(1) / np.sqrt(squares / np.float32(len(row)) + epsilon)
    for k in range(len(row)):
        out[k] = row[k] * factor * gain[k]


@inner(error_model="numpy")
def round_here(values, rounded, row):  # type: ignore[no-untyped-def]
    """One row of what `products.room` gives."""
    numbers, steps, starts = rounded
    round_row(values, numbers.shape[1] // steps.shape[1], numbers[row], steps[row], starts[row])
