"""Coupled verification (verify/coupled.py) of a whole round in compiled code."""

from __future__ import annotations

from truedraw.compiled import compiled, inner
from truedraw.protocol import Purpose
from truedraw.protocol.slate import ACCEPTED, COUNT, POSITION, REJECTED
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.edited import draw_there
from truedraw.sampling.names import named
from truedraw.sampling.transform import Transform
from truedraw.threads.board import share
from truedraw.threads.borrowing import borrowed
from truedraw.threads.jobs import this_call
from truedraw.verify.fused.tree import spell, spelled_nowhere

TARGET = int(Purpose.TARGET)


@compiled(nogil=True, error_model="numpy")
def walk(board, given, takes_part):  # type: ignore[no-untyped-def]
    """A round over logits [1 + n, vocab], a job as threads/board.py has them that shares nothing out by itself.

    given: logits; law, (a plain Transform; what is edited before, see sampling/kernels/edited.py); tree, see tree.py;
    names, (see sampling/names.py; (True, DRAWN), as sampling/kernels/draw.py has them: as constants they would be
    compiled once more); scratch, a plain Scratch; told, memory [4, 1 + n] for the tokens, the rows they were drawn
    from, and the logs of their probabilities under the law and before; numbers of a slate (protocol/): where the text
    ends, and afterwards how many tokens came, 0 where a row has no law.
    """
    if not takes_part:
        share(board, this_call(board, given))
        return
    logits, law, tree, names, scratch, told, slate = borrowed(given)
    name = slate[POSITION], *names[0]
    count, accepted, rejected = walked(logits, law, tree, (name, names[1]), scratch, told)
    slate[COUNT], slate[ACCEPTED], slate[REJECTED] = count, accepted, rejected


@inner(error_model="numpy")
def walked(logits, law, tree, names, scratch, told):  # type: ignore[no-untyped-def]
    """(tokens, accepted, rejected), as `walk` leaves them; names: the first one with the position before it."""
    name, asked = names
    how, edited, memory = Transform(*law[0]), law[1], Scratch(*scratch)
    spelled = spelled_nowhere(len(tree[0]))
    count, row = 0, 0
    while True:
        draw = named(name, TARGET, count, 0), *asked
        token, after, before = draw_there(logits[row], how, edited, told[0, :count], draw, memory)
        if token < 0:
            return 0, 0, False
        told[0, count], told[1, count], told[2, count], told[3, count] = token, row, after, before
        row, below = spell(tree, spelled, count, token)
        count += 1
        if row < 0:
            return count, count - 1, below
