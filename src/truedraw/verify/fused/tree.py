"""A draft tree as compiled code reads it, and the text that a round spells in it.

tree = (tokens [n]; parents [n]; laws [n, 3]: the addresses of a law's tokens (0: all of the vocabulary) and of its
weights (0: no law, the token is certain), and how many they are; nobody reads them under a coupled rule). Row 1 + i of
a round belongs to node i, row 0 to the committed text.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from truedraw.compiled import inner
from truedraw.sampling.kernels.rowkinds import left
from truedraw.sampling.kernels.softmax import scale
from truedraw.sampling.kernels.totals import total_of
from truedraw.threads.borrowing import place_at

IDS, WEIGHTS, SIZE = range(3)
UNSPELLED = -1


@inner(error_model="numpy")
def tried_nodes(tree):  # type: ignore[no-untyped-def]
    """[n], as traversal.worth_trying."""
    _, parents, laws = tree
    n = parents.shape[0]
    tried, above = np.empty(n, np.bool_), np.zeros(n + 1, np.bool_)
    for node in range(n - 1, -1, -1):
        row = 1 + parents[node]
        tried[node] = laws[node, WEIGHTS] != 0 or above[1 + node] or above[row]
        above[row] = tried[node]
    return tried


@inner(error_model="numpy")
def next_child(tree, tried, row, seen):  # type: ignore[no-untyped-def]
    """(child, nodes seen) of the next one to be tried below a row; child -1: there is none."""
    _, parents, _ = tree
    while seen < parents.shape[0]:
        node = seen
        seen += 1
        if parents[node] == row - 1 and tried[node]:
            return node, seen
    return -1, seen


@inner(error_model="numpy")
def q_of(tree, node, token):  # type: ignore[no-untyped-def]
    """The probability of a token under the law of a node."""
    tokens, _, laws = tree
    if laws[node, WEIGHTS] == 0:
        return 1.0 if token == tokens[node] else 0.0
    size = laws[node, SIZE]
    weights = carray(place_at(laws[node, WEIGHTS]), (size,), np.float64)
    if laws[node, IDS] == 0:
        return weights[token]
    ids = carray(place_at(laws[node, IDS]), (size,), np.int64)
    place = np.searchsorted(ids, token)
    return weights[place] if place < size and ids[place] == token else 0.0


@inner(error_model="numpy")
def less_q(share, tree, node, values):  # type: ignore[no-untyped-def]
    """values [vocab], in place: (share values - q)+ by the law of a node; returns their sum."""
    tokens, _, laws = tree
    scale(values, share)
    if laws[node, WEIGHTS] == 0:
        values[tokens[node]] = left(1.0, values[tokens[node]], 1.0)
        return total_of(values)
    weights = carray(place_at(laws[node, WEIGHTS]), (laws[node, SIZE],), np.float64)
    if laws[node, IDS] == 0:
        for i in range(weights.shape[0]):
            values[i] = left(1.0, values[i], weights[i])
        return total_of(values)
    ids = carray(place_at(laws[node, IDS]), (laws[node, SIZE],), np.int64)
    for k in range(ids.shape[0]):
        values[ids[k]] = left(1.0, values[ids[k]], weights[k])
    return total_of(values)


@inner(error_model="numpy")
def spelled_nowhere(n):  # type: ignore[no-untyped-def]
    """[1 + n] rows: how many tokens of the text a row stands behind; UNSPELLED where that is another text."""
    spelled = np.empty(n + 1, np.int64)
    for row in range(n + 1):
        spelled[row] = UNSPELLED if row else 0
    return spelled


@inner(error_model="numpy")
def spell(tree, spelled, count, token):  # type: ignore[no-untyped-def]
    """The text of `count` tokens goes on with one more: (the first row behind it, whether there were drafts for it).

    Equal siblings are one text with several subtrees. The row is -1 where no node has that token.
    """
    tokens, parents, _ = tree
    found, any_below = -1, False
    for node in range(parents.shape[0]):
        if spelled[1 + parents[node]] == count:
            any_below = True
            if tokens[node] == token:
                spelled[1 + node] = count + 1
                found = 1 + node if found < 0 else found
    return found, any_below
