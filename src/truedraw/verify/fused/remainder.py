"""What a draft from a law over few tokens leaves of a tempered row, (w p - q)+, looked at and never written down.

Beside the law's tokens all of w p is left. So what there is in all is found from these tokens alone: w times the rest
of the mass, and what is left at each of them. It is known to 1e-13, which moves a coin by as little, and no token:
these are raced for by their own weights, which are those that would have been written. Where less than LEAST of w is
left it has to be written down: its own digits would be lost, and a race by what p has would be long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import carray

from truedraw.compiled import inner
from truedraw.sampling.kernels.exponential import weight_of
from truedraw.sampling.kernels.formulas import Number
from truedraw.sampling.kernels.lanes import summed
from truedraw.sampling.kernels.rowkinds import Remainder
from truedraw.sampling.kernels.softmax import coldness_of
from truedraw.threads.borrowing import place_at
from truedraw.verify.fused.rows import MASS, TEMPERED, TOP
from truedraw.verify.fused.tree import IDS, SIZE, WEIGHTS

LEAST = 0.05


def less(row: Sequence[Number], of: Sequence[Number]) -> tuple[Number, Number]:
    """p, and what is left of it: as rowkinds.left has it."""
    (logit, q), (top, coldness, unit, share) = row, of
    p = weight_of(logit, top, coldness) * unit
    return p, (share * p - q).at_least(0.0)


LESS = summed(less, terms=2)


@inner(error_model="numpy")
def is_looked_at(kind, tree, node):  # type: ignore[no-untyped-def]
    """Whether what a node leaves of a row of this kind can be."""
    return kind == TEMPERED and tree[2][node, IDS] != 0


@inner(error_model="numpy")
def remainder_of(given, row, share, tree, node, kept):  # type: ignore[no-untyped-def]
    """Of a row that is known, below a node of a tree; kept: memory, at least as long as the node's law."""
    logits, _, law, known, _ = given
    size = tree[2][node, SIZE]
    ids = carray(place_at(tree[2][node, IDS]), (size,), np.int64)
    coldness, unit = coldness_of(law.temperature), 1.0 / known[MASS, row]
    return Remainder(logits[row], known[TOP, row], coldness, unit, share, ids, kept[:size])


@inner(error_model="numpy")
def weighed(row, tree, node):  # type: ignore[no-untyped-def]
    """The sum of a Remainder's weights, whose `kept` is filled."""
    q = carray(place_at(tree[2][node, WEIGHTS]), row.kept.shape, np.float64)
    for k in range(row.ids.shape[0]):
        row.kept[k] = row.logits[row.ids[k]]
    numbers = row.top, row.coldness, row.unit, row.share
    inside, total = LESS((row.kept, q), numbers, row.kept, 0, row.kept.shape[0])
    return row.share * max(1.0 - inside, 0.0) + total
