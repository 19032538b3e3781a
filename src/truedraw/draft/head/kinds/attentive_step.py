"""A whole step of the attentive head (attentive.py has its formulas): what each thread runs. Stages are as
threads/stages.py has them."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import apart, compiled, inlined
from truedraw.draft.head.card import ATTENTION
from truedraw.draft.head.kinds.recurrent_step import move
from truedraw.engine.constants.bfloat16 import BFLOAT_BITS
from truedraw.engine.native.machine import single
from truedraw.engine.native.products import round_row
from truedraw.engine.native.softly import FREE, exp
from truedraw.engine.native.together import copy, multiply, norm_each, own, own_or, round_each
from truedraw.threads.board import share
from truedraw.threads.borrowing import alive, borrowed
from truedraw.threads.jobs import this_call
from truedraw.threads.stages import done, ended, next_piece

STAGES = 14
HEADS, SIZE = ATTENTION
WIDTH = HEADS * SIZE  # of queries, of keys and of values
JOINED = HEADS // 2  # the first head whose values are those of the row behind a key's
REACH = 256  # rows of a text that are looked at, the one that looks included
HALF_A_BIT = np.uint32(1 << BFLOAT_BITS - 1)  # of a bfloat16's last, among those of a float32
FAINT = np.float32(-20)  # logarithm of a weight, beside the largest, that adds nothing
PER_SIZE = np.float32(SIZE**-0.5)
PLACE, SLOT, ROW, COUNT, FOLLOWS = range(5)
"""Columns of what looks back: the place of its text's memory that it has, whose memory that is, its row of this call,
how many rows up to it are to be remembered, and whether the row before the first of them has the place before it.
States end with the first two."""
BEHIND = 2  # columns of states beside their width


@compiled(fastmath=FREE, error_model="numpy", nogil=True)
def compute(board, given, takes_part):  # type: ignore[no-untyped-def]
    """One thread's part, a job as threads/board.py has them: states and logits of the rows that look back.

    given: rows, matrices, gains, epsilon, told, memory, counters and ways as in recurrent_step.compute, with Blocks of
    (Q, K, V), or of Q where nothing is to be remembered, and A behind the others; looking [looking, columns], none:
    all rows look, as their states say; remembered: attentive_memory.Arrays; slopes and sinks [2, heads]. memory: also x
    [n, width] and what rows ask [n, 3 * WIDTH].
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    rows, matrices, gains, epsilon, told, memory, counters, ways, looking, remembered, nearness = borrowed(given)
    features, states, embedded = rows
    into, up, down, token, output, written, asking, attended = matrices
    after, logits = told
    x, e, beside, asked, said, r_into, r_up, r_down, r_token, r_output, r_written, r_asking, r_attended = memory
    ones, gain = gains
    width, rounded_rows = x.shape[1], (r_into, r_up, r_down, r_token)
    given_rows = features, states[:, :width], embedded
    stage = move(given_rows, (into, up, down, token), ones, epsilon, x, (e, beside), rounded_rows, counters, ways)
    rooms = own(r_asking, ways), own(r_output, ways), own(r_written, ways)
    mine = borrowed(rooms)
    r_asking, r_output, r_written = own_or(mine[0], r_asking), own_or(mine[1], r_output), own_or(mine[2], r_written)
    stage = norm_each(x, ones, epsilon, r_asking, counters, stage, ways)
    stage = multiply(asking, r_asking, asked, True, counters, stage, ways)
    stage = look_back((x, asked, states), looking, remembered, nearness, after, r_attended, counters, stage)
    stage = multiply(attended, r_attended, after, False, counters, stage, ways)
    stage = norm_each(after[:, :width], gain, epsilon, r_output, counters, stage, ways)
    stage = multiply(output, r_output, said, True, counters, stage, ways)
    stage = round_each(said, r_written, counters, stage, ways)
    multiply(written, r_written, logits, True, counters, stage, ways)
    alive(rooms)


@apart(fastmath=FREE, error_model="numpy")
def look_back(  # type: ignore[no-untyped-def]
    given, looking, remembered, nearness, after, rounded, counters, stage
):
    """Remember what is new, and what each head finds behind each place, rounded: a piece is one head of one place."""
    x, asked, states = given
    width, one = x.shape[1], np.zeros(FOLLOWS + 1, np.int64)
    found, weights = np.empty(SIZE, np.float32), np.empty(REACH, np.float32)
    numbers, factors = rounded
    size, pieces = numbers.shape[1] // factors.shape[1], len(after) * HEADS
    piece = next_piece(counters, stage, pieces)
    while piece >= 0:
        number, head = piece // HEADS, piece % HEADS
        if len(looking):
            copy(looking[number], one)
        else:
            one[PLACE], one[SLOT], one[ROW] = int(states[number, width]), int(states[number, width + 1]), number
        if head == 0:
            copy(x[one[ROW]], after[number, :width])
            copy(one, after[number, width:])
        first, last = head * SIZE, (head + 1) * SIZE
        keys, values = remembered[0][one[SLOT], head], remembered[1][one[SLOT], head]
        remember(asked, one, head, keys, values)
        rows = remembered[2][one[SLOT]]
        attend(asked[one[ROW], first:last], keys, values, rows, one[PLACE], nearness, head, weights, found)
        round_row(found, size, numbers[number, first:last], factors[number, first // size : last // size])
        piece = done(counters, stage, pieces)
    return ended(counters, stage, pieces)


@inlined(error_model="numpy")
def remember(asked, one, head, keys, values):  # type: ignore[no-untyped-def]
    """Keys and values [places, size] of a head, of the rows that are new."""
    begin_key, begin_value = WIDTH + head * SIZE, 2 * WIDTH + head * SIZE
    for back in range(one[COUNT] - 1, -1, -1):
        row, place = asked[one[ROW] - back].view(np.uint32), one[PLACE] - back
        shorten(row[begin_key : begin_key + SIZE], keys[place])
        if head < JOINED:
            shorten(row[begin_value : begin_value + SIZE], values[place])
        elif back < one[COUNT] - 1 or one[FOLLOWS]:
            shorten(row[begin_value : begin_value + SIZE], values[place - 1])


@inlined(error_model="numpy")
def shorten(bits, out):  # type: ignore[no-untyped-def]
    """The bits of float32 [SIZE] as those of the nearest bfloat16."""
    for k in range(SIZE):
        out[k] = np.uint16((bits[k] + HALF_A_BIT) >> np.uint32(BFLOAT_BITS))


@inlined(error_model="numpy")
def long(bits):  # type: ignore[no-untyped-def]
    """A bfloat16."""
    return single(np.int32(np.uint32(bits) << np.uint32(BFLOAT_BITS)))


@inlined(fastmath=FREE, error_model="numpy")
def attend(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    query, keys, values, rows, place, nearness, head, weights, found
):
    """The mean of the values at the places before one, weighted; a sink has a weight and no value."""
    low = max(0, place - REACH + 1)
    slope, top = nearness[0, head], nearness[1, head]
    for past in range(low, place):
        key, total = keys[past], np.float32(0)
        for k in range(SIZE):
            total += query[k] * long(key[k])
        total = total * PER_SIZE - slope * np.float32(rows[place] - rows[past])
        weights[past - low] = total
        top = max(top, total)
    for k in range(SIZE):
        found[k] = np.float32(0)
    whole = exp(nearness[1, head] - top)
    for past in range(low, place):
        if weights[past - low] - top > FAINT:
            weight, value = exp(weights[past - low] - top), values[past]
            whole += weight
            for k in range(SIZE):
                found[k] += weight * long(value[k])
    for k in range(SIZE):
        found[k] /= whole
