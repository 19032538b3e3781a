"""The path that a traversal has under test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import inner
from truedraw.protocol import Floats, Ints

WRITTEN = -1


class Path(NamedTuple):
    """The path under test, from the committed text on: of each place on it, what traversal.Stop has.

    Memory [3 + 2 n, vocab] holds p at place d in row d, where the law cuts and somebody has looked; and P, of which a
    draft has had its share, in row slots[d], or what a Remainder keeps of it. The last slot is nobody's.
    """

    rows: Ints
    seen: Ints  # see next_child
    tops: Floats
    bottoms: Floats
    slots: Ints
    factors: Floats  # what is in the slot is to be multiplied with this
    written: NDArray[np.bool_]  # whether p is
    left: NDArray[np.bool_]  # whether P is another one than p
    taker: Ints  # the node whose law has taken its share of P, which is not written down; WRITTEN: it is
    shares: Floats  # of p that it took that from


@inner(error_model="numpy")
def path_of(n):  # type: ignore[no-untyped-def]
    """At the committed text, of n nodes."""
    numbers, shares, flags = np.zeros((4, n + 2), np.int64), np.ones((4, n + 2)), np.zeros((2, n + 2), np.bool_)
    for place in range(n + 2):
        numbers[2, place], numbers[3, place] = 1 + n + place, WRITTEN
    rows, seen, slots, taker = numbers[0], numbers[1], numbers[2], numbers[3]
    return Path(rows, seen, shares[0], shares[1], slots, shares[2], flags[0], flags[1], taker, shares[3])


@inner(error_model="numpy")
def weight_at(path, depth):  # type: ignore[no-untyped-def]
    """w."""
    top, bottom = path.tops[depth], path.bottoms[depth]
    return 1.0 if top >= bottom else top / bottom


@inner(error_model="numpy")
def tokens_to(path, depth, tree):  # type: ignore[no-untyped-def]
    """[depth], of the nodes on the way to a place."""
    tokens = np.empty(depth, np.int64)
    for place in range(depth):
        tokens[place] = tree[0][path.rows[place + 1] - 1]
    return tokens
