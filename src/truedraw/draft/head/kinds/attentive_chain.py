"""Drawn chains of some texts, in compiled code: what ../chain.py draws of each with an attentive head, with nobody to
ask, for rounds that come one behind the other."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.draft.growing import MARGIN
from truedraw.draft.head.kinds.attentive_step import COUNT as ROWS
from truedraw.draft.head.kinds.attentive_step import FOLLOWS, PLACE, ROW
from truedraw.engine.native.products import look_up
from truedraw.engine.native.together import copy
from truedraw.protocol.slate import COUNT, DRAFTED, POSITION
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.edited import known_law_there
from truedraw.sampling.kernels.lawful import squares
from truedraw.sampling.kernels.racing_few import run_few
from truedraw.sampling.names import named
from truedraw.sampling.transform import Transform
from truedraw.threads.board import share, together
from truedraw.threads.borrowing import borrowed
from truedraw.threads.each import each_done
from truedraw.threads.jobs import call, this_call

HELD, END = range(2)
"""Rows of a text that a head remembers, and where the last one of them ends in the text."""
STEPS = 2  # that take turns: each goes on from what the other left


@compiled(nogil=True, error_model="numpy")
def draft(board, given, takes_part):  # type: ignore[no-untyped-def]
    """Of some texts, behind the rows that the last round brought; a job as threads/board.py has them, that shares out
    no more than the network's calls, and what it calls beside them. What nobody could draw Python may try again.

    given: (board; the jobs that `hear` and those that `draw`, of each text [texts, 2]; these as threads/each.py has
    them; of how many tokens) and calls, see attentive_calls.Calls.
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    (crew, hears, draws, at_once, depths), (jobs, counters, rows) = borrowed(given)
    texts, rows[0] = len(hears), 0
    for text in range(texts):
        if call(hears[text, 0], hears[text, 1]):
            return
    for depth in range(depths):
        job = step_of(depth, len(jobs)) if depth else rows[0] - texts
        counters[:] = 0
        if together(crew, jobs[job, 0], jobs[job, 1]):
            return
        if texts == 1:
            call(draws[0, 0], draws[0, 1])
        else:
            each_done(crew, at_once)


@compiled(nogil=True, error_model="numpy")
def hear(board, given, takes_part):  # type: ignore[no-untyped-def]
    """What the target knew at the rows of a text, and the tokens behind them, as the network reads them: behind those
    of the texts before, and so many more.

    given: numbers and last of a Slate; hidden [rows, streams, width] of the target's last pass; features, embedded, the
    table, and how many rows there are; memory, see Calls.
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    (numbers, last), hidden, (features, embedded, table, rows), memory = borrowed(given)
    streams, width, first, numbers[DRAFTED] = hidden.shape[1], hidden.shape[2], rows[0], 0
    for row in range(numbers[COUNT]):
        for stream in range(streams):
            copy(hidden[row, stream], features[first + row, stream * width : (stream + 1) * width])
        look_up(table[0], table[1], last[row], embedded[first + row])
    rows[0] = first + numbers[COUNT]
    remember(memory, numbers[COUNT], rows[0] - 1)


@compiled(nogil=True, error_model="numpy")
def draw(board, given, takes_part):  # type: ignore[no-untyped-def]
    """One more token of a text, as the network's last call has it; where there is nothing to draw, none.

    given: numbers, tokens and sure of a Slate; logits of all calls, where those of the text begin in each, and how many
    a call has; law: (a plain Transform in float64 [4]; q [n, known], which is left there; memory for few weights and
    their places [known]; the known tokens; of how many; edited of the Slate, and memory [vocab] where something is);
    chance: (sample and seed's words; purpose; whether a place has the noise of its position; the number of the drafter,
    of how many that draw here); the token as the network reads it, and the table.
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    (numbers, tokens, sure), (logits, first, size), law, chance, (embedded, table), nobody = borrowed(given)
    how, q, few, known, vocab, edited, whole = law
    transform, depth = Transform(how[0], int(how[1]), how[2], how[3]), numbers[DRAFTED]
    here, begin = q[depth], first + said_by(depth) * size
    said, scratch = logits[begin : begin + len(known)], Scratch(here, few[0], few[1], nobody)
    top = known_law_there(said, known, transform, edited, tokens[:depth], scratch, whole)
    likely = squares(here) if np.isfinite(top) else 0.0
    place = run_few(known, here, vocab, chance_at(chance, numbers[POSITION], depth)) if likely > 0.0 else -1
    if place < 0:
        return
    tokens[depth], sure[depth] = known[place], min(max(likely, MARGIN), 1.0 - MARGIN)
    look_up(table[0], table[1], tokens[depth], embedded)
    numbers[DRAFTED] = depth + 1


@inner(error_model="numpy")
def remember(memory, count, last):  # type: ignore[no-untyped-def]
    """So many rows come, the last of which is that row of the call: as attentive_memory.Memory.place, where they follow
    those before."""
    looking, places, remembered = memory
    first, row = remembered[HELD], remembered[END]
    for further in range(count):
        places[first + further] = row + further
    looking[PLACE], looking[ROW], looking[ROWS] = first + count - 1, last, count
    looking[FOLLOWS] = first > 0 and places[first - 1] == row - 1
    remembered[HELD], remembered[END] = first + count, row + count


@inner(error_model="numpy")
def step_of(depth, jobs):  # type: ignore[no-untyped-def]
    """The last jobs are steps."""
    return jobs - STEPS + (depth + 1) % STEPS


@inner(error_model="numpy")
def said_by(depth):  # type: ignore[no-untyped-def]
    """The row of logits that a call leaves."""
    return 1 + (depth + 1) % STEPS if depth else 0


@inner(error_model="numpy")
def chance_at(chance, position, depth):  # type: ignore[no-untyped-def]
    """Of a draw, as growing.Draws and chances.OwnChance name it."""
    name, purpose, moves, source, sources = chance
    node = 0 if moves else depth * sources + source
    return named((position, *name), purpose, depth if moves else 0, node)
