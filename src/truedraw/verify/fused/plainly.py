"""One token each of many texts for which nothing was drafted, in one call of compiled code; threads take texts in turn.

A text that is alone has its row shared among threads (sampling/kernels/survey.py). Where there are more, each thread
takes whole ones: nobody waits for anybody, and Python calls once.
"""

# ruff: noqa: ARG001, ARG005, PLW0108 - numba matches the arguments of overloads by name, and takes lambdas for them

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray
from numba.extending import overload

from truedraw.compiled import compiled, forwarded, inner
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.draw import draw_edited, draw_row
from truedraw.sampling.names import named
from truedraw.sampling.transform import Transform
from truedraw.threads.board import share
from truedraw.threads.borrowing import borrowed, place_at
from truedraw.threads.jobs import this_call
from truedraw.threads.stages import done, next_piece

PLACES, TEXTS = range(2)  # counters of what is taken: memory, and texts
POSITION, SAMPLE, SEED, SEED_TOO, PURPOSE = range(5)  # of a name


@compiled()
def address_of(logits):  # type: ignore[no-untyped-def]
    """Of the first; numpy takes seven times as long to tell it."""
    return logits.ctypes.data


@compiled(nogil=True, error_model="numpy")
def draw_plainly(board, given, takes_part):  # type: ignore[no-untyped-def]
    """A job as threads/board.py has them, in which whoever finds memory of its own takes part.

    given: rows [texts], addresses of logits [vocab] of float32; hows [texts, 4], of plain Transforms; edits, a table of
    edit_tables.py; names [texts, 5]; asked, see walk.py; memory: weights [threads, 2, vocab], ids [threads, vocab] and
    a board of no words; told [texts, 3]: a token, and the logs of its probability under the law and before. What nobody
    has come to, as there was no memory, stays as it is.
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    rows, hows, edits, names, asked, memory, told, counters = borrowed(given)
    weights, ids, nobody = memory
    place = next_piece(counters, PLACES, ids.shape[0])
    if place < 0:
        return
    scratch = Scratch(weights[place, 0], weights[place, 1], ids[place], nobody)
    text = next_piece(counters, TEXTS, rows.shape[0])
    while text >= 0:
        logits, how, name = carray(place_at(rows[text]), (ids.shape[1],), np.float32), hows[text], names[text]
        law = Transform(how[0], int(how[1]), how[2], how[3])
        chance = named((name[POSITION], name[SAMPLE], name[SEED], name[SEED_TOO]), name[PURPOSE], 0, 0)
        told[text, 0], told[text, 1], told[text, 2] = drawn(logits, law, edits, text, (chance, *asked), scratch)
        text = done(counters, TEXTS, rows.shape[0])


def drawn(logits: Any, law: Any, edits: Any, text: Any, draw: Any, scratch: Any) -> Any:
    """draw_row, or draw_edited, of a text. For compiled code only; compiled apart where no text has edits."""
    raise NotImplementedError


@overload(drawn, jit_options=forwarded(error_model="numpy"))
def _drawn(logits, law, edits, text, draw, scratch):  # type: ignore[no-untyped-def]
    if len(edits):
        return lambda logits, law, edits, text, draw, scratch: drawn_by(logits, law, edits, text, draw, scratch)
    return lambda logits, law, edits, text, draw, scratch: draw_row(logits, law, draw, scratch)


@inner(error_model="numpy")
def drawn_by(logits, law, edits, text, draw, scratch):  # type: ignore[no-untyped-def]
    """By a table of edits."""
    some, places, numbers = edits
    if not some[text]:
        return draw_row(logits, law, draw, scratch)
    at, (repetition, frequency, presence) = places[text], (numbers[text, 0], numbers[text, 1], numbers[text, 2])
    bias = carray(place_at(at[1, 0]), (at[1, 1],), np.float64)
    allowed = carray(place_at(at[9, 0]), (at[9, 1],), np.uint8)
    seen = numbers_at(at[2]), numbers_at(at[3]), numbers_at(at[4])
    output = numbers_at(at[5]), numbers_at(at[6]), numbers_at(at[7])
    own = numbers_at(at[0]), bias, seen, repetition, output, frequency, presence, numbers_at(at[8]), allowed
    return draw_edited(logits, law, own, draw, scratch)


@inner(error_model="numpy")
def numbers_at(place):  # type: ignore[no-untyped-def]
    """Whole numbers at an address, so many."""
    return carray(place_at(place[0]), (place[1],), np.int64)
