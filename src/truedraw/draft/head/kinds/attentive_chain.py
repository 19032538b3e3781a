"""A drawn chain of one text, in compiled code: what ../chain.py draws with an attentive head, with nobody to ask, for
rounds that come one behind the other."""

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
from truedraw.threads.jobs import this_call

HELD, END = range(2)
"""Rows of a text that a head remembers, and where the last one of them ends in the text."""
STEPS = 2  # that take turns: each goes on from what the other left


@compiled(nogil=True, error_model="numpy")
def draft(board, given, takes_part):  # type: ignore[no-untyped-def]
    """Behind the rows that the last round brought; a job as threads/board.py has them, that shares out no more than the
    network's calls. It ends early where there is nothing to draw, or no memory: Python may try again.

    given: numbers, last, tokens and sure of a Slate; hidden [rows, streams, width] of the target's last pass; calls:
    see attentive_calls.Calls; law: (a plain Transform in float64 [4]; q [n, known], which is left there; memory for few
    weights and their places [known]; the known tokens; of how many; edited of the Slate, and memory [vocab] where
    something is); chance: (sample and seed's words; purpose; whether
    a place has the noise of its position; the number of the drafter, of how many that draw here).
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    slate, hidden, calls, law, chance = borrowed(given)
    numbers, last, tokens, sure = slate
    crew, jobs, counters, rows, logits = calls
    how, q, few, known, vocab, edited, whole = law
    transform = Transform(how[0], int(how[1]), how[2], how[3])
    features, embedded, table, memory = rows
    hear(hidden, last, numbers[COUNT], features, embedded, table)
    remember(memory, numbers[COUNT])
    numbers[DRAFTED] = 0
    for depth in range(len(tokens)):
        if depth:
            look_up(table[0], table[1], tokens[depth - 1], embedded[0])
        job = step_of(depth, len(jobs)) if depth else numbers[COUNT] - 1
        counters[:] = 0
        if together(crew, jobs[job, 0], jobs[job, 1]):
            return
        here = q[depth]
        scratch = Scratch(here, few[0], few[1], crew[:0])
        top = known_law_there(logits[said_by(depth)], known, transform, edited, tokens[:depth], scratch, whole)
        likely = squares(here) if np.isfinite(top) else 0.0
        place = run_few(known, here, vocab, chance_at(chance, numbers[POSITION], depth)) if likely > 0.0 else -1
        if place < 0:
            return
        tokens[depth], sure[depth] = known[place], min(max(likely, MARGIN), 1.0 - MARGIN)
        numbers[DRAFTED] = depth + 1


@inner(error_model="numpy")
def hear(hidden, tokens, count, features, embedded, table):  # type: ignore[no-untyped-def]
    """What the target knew at so many rows, and the tokens behind them, as the network reads them."""
    streams, width = hidden.shape[1], hidden.shape[2]
    for row in range(count):
        for stream in range(streams):
            copy(hidden[row, stream], features[row, stream * width : (stream + 1) * width])
        look_up(table[0], table[1], tokens[row], embedded[row])


@inner(error_model="numpy")
def remember(memory, count):  # type: ignore[no-untyped-def]
    """So many rows come: as attentive_memory.Memory.place, where they follow those before."""
    looking, places, remembered = memory
    first, row = remembered[HELD], remembered[END]
    for further in range(count):
        places[first + further] = row + further
    looking[0, PLACE], looking[0, ROW], looking[0, ROWS] = first + count - 1, count - 1, count
    looking[0, FOLLOWS] = first > 0 and places[first - 1] == row - 1
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
