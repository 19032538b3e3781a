"""How a suffix automaton lies in memory: rows of int32, found by number, no objects.

A state stands for all strings that end at the same places of the texts; they are suffixes of one another, and
the state's link leads to the class of the next shorter ones. State 0 is the empty string. An edge leads from a state to
the one that holds its strings with a token behind them; the edges of a state are a list, newest first, and an open
hash table of edge numbers finds the one of a token. Per token at most 2 states and 3 edges, whatever the text
(Blumer et al. 1985): 32 and 48 bytes, and 4 to 8 bytes of the table an edge.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner

NONE = -1
ROOT_STATE = 0
LENGTH, LINK, COUNT, EDGE = 0, 1, 2, 3
"""Columns of a state: tokens of its longest string, its link, how often it occurs, its newest edge."""
SOURCE, TOKEN, TARGET, NEXT = 0, 1, 2, 3
"""Columns of an edge: from which state, by which token, to which state, the next older edge of the same state."""
STATES, EDGES = 0, 1
"""What is in use, in the array of sizes."""
LAST, PLACE, MATCHED = 0, 1, 2
"""Of a cursor: the state of the whole text, the state of its last MATCHED tokens."""
SPREAD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)  # odd constants of splitmix64
HALF_WORD = np.uint64(32)


@inner(error_model="numpy")
def slot_of(edges, slots, state, token):  # type: ignore[no-untyped-def]
    """The slot that holds the edge of a state by a token, or the empty one where it would be."""
    key = (np.uint64(state) << HALF_WORD) | np.uint64(token)
    key = (key * SPREAD) ^ ((key * SPREAD) >> HALF_WORD)
    mask = slots.shape[0] - 1
    at = np.int64((key * MIX) >> HALF_WORD) & mask
    while True:
        edge = slots[at]
        if edge == NONE or (edges[edge, SOURCE] == state and edges[edge, TOKEN] == token):
            return at
        at = (at + 1) & mask


@inner(error_model="numpy")
def step(edges, slots, state, token):  # type: ignore[no-untyped-def]
    """The state one token further, or NONE."""
    edge = slots[slot_of(edges, slots, state, token)]
    return NONE if edge == NONE else edges[edge, TARGET]


@inner(error_model="numpy")
def settle(states, state, length):  # type: ignore[no-untyped-def]
    """The state of the last `length` tokens of a string that `state` holds or held before a split."""
    while state != ROOT_STATE and states[states[state, LINK], LENGTH] >= length:
        state = states[state, LINK]
    return state
