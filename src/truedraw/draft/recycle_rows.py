"""Token recycling in compiled code: the best of a row of logits, and a draft along what followed each token.

A table is (index, owners, ids, chances): the row of a token in the others or NONE, the token of a row, its followers
and their probabilities, the likeliest first. Rows are handed out in turn; when all are taken the oldest is reused.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.draft.suffix_nodes import NONE
from truedraw.draft.suffix_reading import insert
from truedraw.sampling.kernels.exponential import LOG2_E, power
from truedraw.sampling.kernels.spans import SPAN, index, largest, maxima, num_spans

SQUARINGS = 8
FARTHEST = np.float32(-64.0)  # below the top: e**-64 adds nothing to a sum whose largest part is 1
STEP = np.float32(1 / (1 << SQUARINGS))
ONE, HALF = np.float32(1.0), np.float32(0.5)


@compiled(nogil=True, error_model="numpy")
def learn(table, following, tokens, rows, logits):  # type: ignore[no-untyped-def]
    """Enter the likeliest of logits[rows[i]] as what follows tokens[i]; returns the next row to hand out.

    `following` is the row to hand out first. logits [rows, vocab]; a row without a law is left out.
    """
    _, _, ids, chances = table
    values = np.empty(ids.shape[1])
    found = np.empty(ids.shape[1], np.int32)
    for i in range(tokens.shape[0]):
        top = likeliest(logits[rows[i]], found, values)
        if not np.isfinite(top):
            continue
        place, following = place_of(table, following, tokens[i])
        total = np.float64(rough_total(logits[rows[i]], top))
        for j in range(found.shape[0]):
            ids[place, j] = found[j]
            chances[place, j] = min(1.0, power((values[j] - top) * LOG2_E) / total) if found[j] != NONE else 0.0
    return following


@compiled(nogil=True, error_model="numpy")
def place_of(table, following, token):  # type: ignore[no-untyped-def]
    """(row of a token, next row to hand out)."""
    places, owners, _, _ = table
    place = places[token]
    if place != NONE:
        return np.int64(place), following
    if owners[following] != NONE:
        places[owners[following]] = NONE
    owners[following], places[token] = token, following
    return following, (following + 1) % owners.shape[0]


@compiled(nogil=True, error_model="numpy")
def likeliest(logits, ids, values):  # type: ignore[no-untyped-def]
    """ids, values [k]: the k largest of logits [vocab], the largest first, NONE where fewer are above -inf.

    Returns the largest; NaN or infinite where there is no law. One pass over memory finds the largest of each span of
    neighbours, and only spans that can hold one of the k best are looked into.
    """
    n, k = logits.shape[0], ids.shape[0]
    tops = np.empty(num_spans(n), dtype=logits.dtype)
    if maxima(logits, n, -np.inf, tops):
        return np.nan
    ids[:], values[:] = NONE, -np.inf
    for span in range(tops.shape[0]):
        if tops[span] > values[k - 1]:
            for place in range(SPAN):
                i = index(span, place)
                if i < n and logits[i] > values[k - 1]:
                    enter(ids, values, i, logits[i])
    return np.float64(largest(tops))


@inner(error_model="numpy", fastmath={"reassoc", "contract"})
def rough_total(logits, top):  # type: ignore[no-untyped-def]
    """The sum of exp(logits - top) in float32, to 0.3 % or better: (1 + y + y**2 / 2)**256 for e**x, y = x / 256.

    A table of guesses needs no better one, and an exact sum takes three times as long.
    """
    total = np.float32(0.0)
    for i in range(logits.shape[0]):
        y = max(np.float32(logits[i] - top), FARTHEST) * STEP
        w = ONE + y * (ONE + HALF * y)
        for _ in range(SQUARINGS):
            w *= w
        total += w
    return total


@inner(error_model="numpy")
def enter(ids, values, token, value):  # type: ignore[no-untyped-def]
    """Into the sorted best, whose last falls out; behind equals."""
    at = ids.shape[0] - 1
    while at > 0 and values[at - 1] < value:
        ids[at], values[at] = ids[at - 1], values[at - 1]
        at -= 1
    ids[at], values[at] = token, value


@compiled(nogil=True, error_model="numpy")
def grow(table, token, rules, board):  # type: ignore[no-untyped-def]
    """Fill the board with a draft behind `token`, the likeliest node first; how many nodes.

    rules = (floor, is_tree). board = (tokens [budget], parents [budget], chances [budget], unused [budget, 2]): the
    nodes in their order, and behind them while it grows, sorted by chance, those that may become nodes yet.
    """
    tokens, _, chances, _ = board
    size = offer(table, board, (0, 0), (token, 1.0, NONE), rules)
    node = 0
    while node < size:
        above = (tokens[node], chances[node], node)
        node += 1
        size = offer(table, board, (node, size), above, rules)
    return node


@inner(error_model="numpy")
def offer(table, board, span, above, rules):  # type: ignore[no-untyped-def]
    """Enter the followers of above = (token, chance, node) among the candidates board[first:size]; the new size."""
    places, _, ids, chances = table
    token, chance, node = above
    first, size = span
    if token >= places.shape[0] or places[token] == NONE or first == board[0].shape[0]:
        return size
    row = places[token]
    for j in range(ids.shape[1] if rules[1] else 1):
        reached = chance * chances[row, j]
        if ids[row, j] == NONE or not reached > rules[0]:
            break
        size = insert(board, (first, size), (np.int64(ids[row, j]), np.int64(node), reached), (0, 0))
    return size
