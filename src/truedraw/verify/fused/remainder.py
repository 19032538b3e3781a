"""What a draft from a law over few tokens leaves of a tempered row, (w p - q)+, looked at and never written down.

Beside the law's tokens all of w p is left. So what there is in all is found from these tokens alone: w times the rest
of the mass, and what is left at each of them. It is known to 1e-13, which moves a coin by as little, and no token:
these are raced for by their own weights, which are those that would have been written. Where less than LEAST of w is
left it has to be written down: its own digits would be lost, and a race by what p has would be long.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from truedraw.compiled import inner
from truedraw.sampling.kernels.bits import long_vectors
from truedraw.sampling.kernels.exponential import weight
from truedraw.sampling.kernels.rowkinds import Remainder, left
from truedraw.sampling.kernels.softmax import coldness_of
from truedraw.threads.borrowing import place_at
from truedraw.verify.fused.rows import MASS, TEMPERED, TOP
from truedraw.verify.fused.tree import IDS, SIZE, WEIGHTS

LEAST = 0.05


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
    inside, total = less_here(row.kept, q, row.top, row.coldness, row.unit, row.share)
    return row.share * max(1.0 - inside, 0.0) + total


@inner(error_model="numpy", fastmath={"reassoc"})
def less_here(values, q, top, coldness, unit, share):  # type: ignore[no-untyped-def]
    """(p, what is left of it) in all, of logits [m], in whose place it is written."""
    long_vectors()
    inside, total = 0.0, 0.0
    for k in range(values.shape[0]):
        p = weight(values[k], top, coldness) * unit
        inside += p
        values[k] = left(share, p, q[k])
        total += values[k]
    return inside, total
