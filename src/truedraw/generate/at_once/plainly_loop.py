"""Rounds of several texts, a token each and one round behind the other: pass, draws, and what came of them written
down. See loop.py."""

from __future__ import annotations

from truedraw.compiled import compiled, inner
from truedraw.generate.at_once.loop import goes_on, has_ended, show
from truedraw.threads.board import together
from truedraw.threads.borrowing import borrowed
from truedraw.threads.clock import nanoseconds

BEGUN, SCORED, ENDED = range(3)
"""Moments of a round."""
PLACE = 0  # of a name, where the text ends: verify.fused.plainly.POSITION


@compiled(nogil=True, error_model="numpy")
def run(board, given):  # type: ignore[no-untyped-def]
    """How many rounds came.

    given: of the pass its job, counters, ids, positions and past; of the draws their job, counters, names and what they
    tell [texts, 3]; (rounds at most; nanoseconds behind which none begins; tokens that end a text [texts, some], -1
    where there are fewer); of each round memory for what the draws tell [rounds, texts, 3] and moments [rounds, 3]; the
    pass's hidden states [texts, streams, width], none where nobody wants them, and memory for those of each round. Jobs
    are addresses, see threads/kept.py.
    """
    target, draws, limits, kept, shown = borrowed(given)
    _, counters, ids, positions, past = target
    _, taken, names, told = draws
    most, patience, ends = limits
    began, number = nanoseconds(), 0
    while number < most and goes_on(board, number, began + patience):
        moments = kept[1][number]
        moments[BEGUN] = nanoseconds()
        counters[:] = 0
        if together(board, target[0][0], target[0][1]):
            break
        moments[SCORED] = nanoseconds()
        taken[:], told[:] = 0, -1.0
        if together(board, draws[0][0], draws[0][1]) or not all_drawn(told):
            break
        some_end = step(told, (ids, positions, past), names, kept[0][number], ends)
        show(shown[0], len(ids), shown[1][number])
        moments[ENDED] = nanoseconds()
        number += 1
        if some_end:
            break
    return number


@inner(error_model="numpy")
def all_drawn(told):  # type: ignore[no-untyped-def]
    """Whether every text has a token."""
    drawn = True
    for text in range(len(told)):
        drawn &= told[text, 0] >= 0
    return drawn


@inner(error_model="numpy")
def step(told, rows, names, kept, ends):  # type: ignore[no-untyped-def]
    """Each text goes on by its token; whether one has ended."""
    ids, positions, past = rows
    some_end = False
    for text in range(len(told)):
        for k in range(told.shape[1]):
            kept[text, k] = told[text, k]
        ids[text] = int(told[text, 0])
        positions[text] += 1
        past[text] += 1
        names[text, PLACE] += 1
        some_end |= has_ended(ids[text:], 1, ends[text])
    return some_end
