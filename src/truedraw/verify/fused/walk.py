"""Coupled verification (verify/coupled.py) of a whole round in compiled code."""

from __future__ import annotations

from truedraw.compiled import compiled
from truedraw.protocol import Purpose
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.draw import draw_row
from truedraw.sampling.transform import Transform
from truedraw.verify.fused.names import named
from truedraw.verify.fused.tree import spell, spelled_nowhere

TARGET = int(Purpose.TARGET)


@compiled(nogil=True, error_model="numpy")
def walk(logits, how, tree, names, scratch, told):  # type: ignore[no-untyped-def]
    """(tokens, accepted, rejected) of a round over logits [1 + n, vocab]; 0 tokens where a row has no law.

    how: a plain Transform; tree: see tree.py; names: (see names.py; (True, DRAWN), as draw.py has them: as constants
    they would be compiled once more); scratch: a plain Scratch; told: memory [4, 1 + n] for the tokens, the rows they
    were drawn from, and the logs of their probabilities under the law and before.
    """
    name, asked = names
    law, memory = Transform(*how), Scratch(*scratch)
    spelled = spelled_nowhere(len(tree[0]))
    count, row = 0, 0
    while True:
        token, after, before = draw_row(logits[row], law, (named(name, TARGET, count, 0), *asked), memory)
        if token < 0:
            return 0, 0, False
        told[0, count], told[1, count], told[2, count], told[3, count] = token, row, after, before
        row, below = spell(tree, spelled, count, token)
        count += 1
        if row < 0:
            return count, count - 1, below
