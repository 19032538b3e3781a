"""One law out of many counts: every known context of a text has its say, the longest first.

For a context c, n(x) how often x followed it, N the sum of that, K the number of different x, and a discount D,

    q_c(x) = (n(x) - D) / N + (D K / N) q_c'(x)    for x that followed c, the second term alone for all others,

c' being the next source: what is on file after what is in the running texts, then the context that is a token shorter
(interpolated absolute discounting: Ney, Essen, Kneser 1994). Nothing stands below single tokens, so q is zero for what
no source has seen, and is to be divided by its sum.
"""

from __future__ import annotations

from truedraw.compiled import compiled, inner
from truedraw.draft.suffix_nodes import COUNT, EDGE, NEXT, NONE, TARGET, TOKEN, settle
from truedraw.draft.suffix_reading import match

TOKENS, COUNTS, BEGINS, TOP_TOKENS, TOP_COUNTS, FIRST, DEEPEST = 0, 1, 2, 3, 4, 5, 6
"""Of what is on file: the columns of NgramCounts, its most frequent single tokens, how many nodes its first level has,
and tokens of its longest context."""
ON_FILE, HEARD = 0, 1
"""Discounts."""


@compiled(error_model="numpy")
def blend(file, heard, context, discounts, board):  # type: ignore[no-untyped-def]
    """Fill the board with weights behind a context; how many tokens have one.

    file as named above; heard = (states, edges, state, length of its string) of the running texts; context [at most
    order - 1] the last tokens; board = (weights [vocab], all 0; their tokens [vocab]).
    """
    states, edges, state, length = heard
    state, length = match(states, state, length, context.shape[0])
    so_far = 0, 1.0  # tokens on the board, and the mass that is left for shorter contexts
    for n in range(context.shape[0], -1, -1):
        if n <= length:
            state = settle(states, state, n)
            so_far = say_heard(states, edges, state, discounts[HEARD], board, so_far)
        if n == 0:
            so_far = say(file[TOP_TOKENS], file[TOP_COUNTS], discounts[ON_FILE], board, so_far)
        elif n <= file[DEEPEST]:
            low, high = followers(file, context[context.shape[0] - n :])
            so_far = say(file[TOKENS][low:high], file[COUNTS][low:high], discounts[ON_FILE], board, so_far)
    return so_far[0]


@compiled(error_model="numpy")
def taken_from(board, tokens, chances):  # type: ignore[no-untyped-def]
    """Empty the board into tokens [size] and their probabilities [size]."""
    total = 0.0
    for i in range(tokens.shape[0]):
        tokens[i] = board[1][i]
        total += board[0][tokens[i]]
    share = 1.0 / total
    for i in range(tokens.shape[0]):
        chances[i] = board[0][tokens[i]] * share
        board[0][tokens[i]] = 0.0


@inner(error_model="numpy")
def followers(file, context):  # type: ignore[no-untyped-def]
    """(first, last + 1) of the nodes of what followed a context; none where it is unknown."""
    tokens, begins = file[TOKENS], file[BEGINS]
    low, high = 0, file[FIRST]
    for token in context:
        end = high
        while low < high:
            middle = (low + high) // 2
            if tokens[middle] < token:
                low = middle + 1
            else:
                high = middle
        if low == end or tokens[low] != token:
            return 0, 0
        low, high = begins[low], begins[low + 1]
    return low, high


@inner(error_model="numpy")
def say(tokens, counts, discount, board, so_far):  # type: ignore[no-untyped-def]
    """Add what a context on file says."""
    size, left = so_far
    total = 0
    for count in counts:
        total += count
    if total == 0:
        return size, left
    share = left / total
    for i in range(tokens.shape[0]):
        size = add(board, size, tokens[i], share * (counts[i] - discount))
    return size, left * discount * tokens.shape[0] / total


@inner(error_model="numpy")
def say_heard(states, edges, state, discount, board, so_far):  # type: ignore[no-untyped-def]
    """Add what a context in the running texts says."""
    size, left = so_far
    total, kinds, edge = 0, 0, states[state, EDGE]
    while edge != NONE:
        total, kinds = total + states[edges[edge, TARGET], COUNT], kinds + 1
        edge = edges[edge, NEXT]
    if total == 0:
        return size, left
    edge = states[state, EDGE]
    while edge != NONE:
        weight = left * (states[edges[edge, TARGET], COUNT] - discount) / total
        size = add(board, size, edges[edge, TOKEN], weight)
        edge = edges[edge, NEXT]
    return size, left * discount * kinds / total


@inner(error_model="numpy")
def add(board, size, token, weight):  # type: ignore[no-untyped-def]
    """More weight for one token; how many have one."""
    weights, tokens = board
    if weights[token] == 0.0:
        tokens[size] = token
        size += 1
    weights[token] += weight
    return size
