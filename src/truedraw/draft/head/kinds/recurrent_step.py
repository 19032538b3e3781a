"""A whole step of the recurrent head (recurrent.py has its formulas): what each thread runs. Stages are as
threads/stages.py has them."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import apart, compiled, inlined
from truedraw.engine.native.softly import FREE, norm
from truedraw.engine.native.together import (
    copy,
    multiply,
    multiply_gated,
    norm_each,
    own,
    own_or,
    round_each,
    round_here,
)
from truedraw.threads.board import share
from truedraw.threads.borrowing import alive, borrowed
from truedraw.threads.jobs import this_call
from truedraw.threads.stages import done, ended, next_piece

STAGES = 10


@compiled(fastmath=FREE, error_model="numpy", nogil=True)
def compute(board, given, takes_part):  # type: ignore[no-untyped-def]
    """One thread's part, a job as threads/board.py has them. States [n, width] and logits [n, known], both told,
    behind the states before and tokens of these rows e(t) [n, width].

    given: features [n, streams * width], or [n, 0] where the target has said nothing, states and e(t); Blocks of I,
    (G, U), D, T, O and e(tokens); gains: ones and that of the file [width]; epsilon of mean squares; told; memory: e
    normed [n, width], one of twice that width, one of that width, then rounded rows for each matrix; counters; ways.
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    rows, matrices, gains, epsilon, told, memory, counters, ways = borrowed(given)
    into, up, down, token, output, written = matrices
    after, logits = told
    e, beside, said, r_into, r_up, r_down, r_token, r_output, r_written = memory
    ones, gain = gains
    rounded_rows = r_into, r_up, r_down, r_token
    stage = move(rows, (into, up, down, token), ones, epsilon, after, (e, beside), rounded_rows, counters, ways)
    rooms = own(r_output, ways), own(r_written, ways)
    mine = borrowed(rooms)
    r_output, r_written = own_or(mine[0], r_output), own_or(mine[1], r_written)
    stage = norm_each(after, gain, epsilon, r_output, counters, stage, ways)
    stage = multiply(output, r_output, said, True, counters, stage, ways)
    stage = round_each(said, r_written, counters, stage, ways)
    multiply(written, r_written, logits, True, counters, stage, ways)
    alive(rooms)


@inlined(fastmath=FREE, error_model="numpy")
def move(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    rows, matrices, ones, epsilon, x, memory, rounded_rows, counters, ways
):
    """The first stages: x [n, width] behind features, states [n, width] and e(t), as `compute` has them.

    matrices: I, (G, U), D and T, and rounded_rows for each; memory: e normed, and one of twice that width.
    """
    features, states, embedded = rows
    into, up, down, token = matrices
    e, beside = memory
    r_into, r_up, r_down, r_token = rounded_rows
    stage = begin(features, states, embedded, ones, epsilon, x, e, (r_into, r_token), counters, 0)
    if features.shape[1]:
        stage = multiply(into, r_into, x, False, counters, stage, ways)
    room = own(r_up, ways)
    r_up = own_or(borrowed(room), r_up)
    stage = face(x, e, ones, epsilon, beside, r_up, counters, stage, ways)
    stage = multiply_gated(up, r_up, r_down, counters, stage, ways)
    alive(room)
    stage = multiply(down, r_down, x, False, counters, stage, ways)
    return multiply(token, r_token, x, False, counters, stage, ways)


@apart(fastmath=FREE, error_model="numpy")
def begin(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    features, states, embedded, ones, epsilon, after, e, rounded_rows, counters, stage
):
    """The states as they were, and n(e(t)); features and these rounded."""
    row = next_piece(counters, stage, len(states))
    while row >= 0:
        copy(states[row], after[row])
        norm(embedded[row], ones, epsilon, e[row])
        if features.shape[1]:
            round_here(features[row], rounded_rows[0], row)
        round_here(e[row], rounded_rows[1], row)
        row = done(counters, stage, len(states))
    return ended(counters, stage, len(states))


@apart(fastmath=FREE, error_model="numpy")
def face(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    after, e, ones, epsilon, beside, rounded_rows, counters, stage, ways
):
    """u = (n(x), n(e(t))), rounded, as together.norm_each has it."""
    if len(after) <= ways.few:
        room = np.empty(beside.shape[1], np.float32)
        for row in range(len(after)):
            face_one(after[row], e[row], ones, epsilon, room, rounded_rows, row)
        return stage
    row = next_piece(counters, stage, len(after))
    while row >= 0:
        face_one(after[row], e[row], ones, epsilon, beside[row], rounded_rows, row)
        row = done(counters, stage, len(after))
    return ended(counters, stage, len(after))


@inlined(fastmath=FREE, error_model="numpy")
def face_one(after, e, ones, epsilon, beside, rounded_rows, row):  # type: ignore[no-untyped-def]
    """Of one row; beside: memory for it before it is rounded."""
    width = len(after)
    norm(after, ones, epsilon, beside[:width])
    copy(e, beside[width:])
    round_here(beside, rounded_rows, row)
