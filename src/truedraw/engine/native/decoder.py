"""A whole pass of a llama, qwen2 or qwen3 model: what each thread runs, in stages as threads/stages.py has them.

    x = embedding[ids]
    each layer:  x += o(attention(rotate(qkv(norm(x)))));  x += down(silu(gate(norm(x))) * up(norm(x)))
    logits = head(norm(x[logit rows]))

What is in the tuples, and its shapes, stands in runner.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import apart, compiled
from truedraw.engine.native.attending import look_back, remember
from truedraw.engine.native.layers import multiply_layer, multiply_layer_gated
from truedraw.engine.native.products import look_up
from truedraw.engine.native.softly import FREE, norm
from truedraw.engine.native.together import copy, norm_each, own, own_or, round_here
from truedraw.threads.board import share
from truedraw.threads.borrowing import alive, borrowed
from truedraw.threads.jobs import this_call
from truedraw.threads.stages import done, ended, next_piece

STAGES_A_LAYER, STAGES_BESIDE = 10, 4


@compiled(fastmath=FREE, error_model="numpy", nogil=True)
def compute(board, given, takes_part):  # type: ignore[no-untyped-def]
    """One thread's part of a pass, a job as threads/board.py has them."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    model, rows, lanes, cache, memory, counters, ways, findings = borrowed(given)
    table, matrices, vectors, sizes, shown, epsilon = model
    before_attention, before_feeding, bias, query_norm, key_norm, last_norm = vectors
    ids, logit_rows, hidden_rows = rows[0], rows[2], rows[3]
    x, wide, mixed, logits, hidden, narrow, heads, feeding, gated, final = memory
    qkv, out, up, down, head = matrices
    rooms = own(narrow, ways), own(feeding, ways)
    is_fresh, mine = bias.shape[1] == 0, borrowed(rooms)
    normed, fed = own_or(mine[0], narrow) if is_fresh else narrow, own_or(mine[1], feeding)
    stage, told, stages = embed(table, ids, x, counters, 0), 0, len(before_attention) * STAGES_A_LAYER + STAGES_BESIDE
    for layer in range(len(before_attention)):
        if is_fresh:
            stage = norm_each(x, before_attention[layer], epsilon, normed, counters, stage, ways)
        else:
            stage = begin_layer(x, before_attention[layer], bias[layer], epsilon, normed, wide, counters, stage)
        stage = multiply_layer(qkv, layer, normed, wide, is_fresh, counters, stage, ways)
        stage = remember(wide, key_norm[layer], sizes, epsilon, rows, lanes, cache, layer, counters, stage)
        found = findings, stages + layer * len(lanes[7]) * sizes[1]
        stage = look_back(
            wide, query_norm[layer], sizes, epsilon, rows, lanes, cache, layer, found, mixed, heads, counters, stage,
            ways,
        )  # fmt: skip
        stage = multiply_layer(out, layer, heads, x, False, counters, stage, ways)
        stage = norm_each(x, before_feeding[layer], epsilon, fed, counters, stage, ways)
        stage = multiply_layer_gated(up, layer, fed, gated, counters, stage, ways)
        stage = multiply_layer(down, layer, gated, x, False, counters, stage, ways)
        if told < len(shown) and shown[told] == layer:
            stage = show(x, hidden_rows, hidden, told, counters, stage)
            told += 1
    stage = end(x, last_norm, epsilon, logit_rows, hidden_rows, hidden, told, final, counters, stage)
    multiply_layer(head, 0, final, logits, True, counters, stage, ways)
    alive(rooms)


@apart(error_model="numpy")
def embed(table, ids, x, counters, stage):  # type: ignore[no-untyped-def]
    """x [n, width] = rows of the table (int8 codes, scales of groups of columns)."""
    codes, scales = table
    row = next_piece(counters, stage, len(ids))
    while row >= 0:
        look_up(codes, scales, ids[row], x[row])
        row = done(counters, stage, len(ids))
    return ended(counters, stage, len(ids))


@apart(fastmath=FREE, error_model="numpy")
def begin_layer(x, gain, bias, epsilon, narrow, wide, counters, stage):  # type: ignore[no-untyped-def]
    """Normed rows, rounded, and what their queries, keys and values begin with, where they have a bias."""
    room = np.empty(x.shape[1], np.float32)
    row = next_piece(counters, stage, len(x))
    while row >= 0:
        norm(x[row], gain, epsilon, room)
        round_here(room, narrow, row)
        for k in range(len(bias)):
            wide[row, k] = bias[k]
        row = done(counters, stage, len(x))
    return ended(counters, stage, len(x))


@apart(error_model="numpy")
def show(x, hidden_rows, hidden, number, counters, stage):  # type: ignore[no-untyped-def]
    """The residual stream of some rows."""
    row = next_piece(counters, stage, len(hidden_rows))
    while row >= 0:
        copy(x[hidden_rows[row]], hidden[row, number])
        row = done(counters, stage, len(hidden_rows))
    return ended(counters, stage, len(hidden_rows))


@apart(fastmath=FREE, error_model="numpy")
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
