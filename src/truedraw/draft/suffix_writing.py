"""Entering text into a suffix automaton, token by token (Blumer et al. 1985), several texts into one.

The texts make a trie: a text may branch off where another one stands. Each occurrence of a string of at most `depth`
tokens is counted when its last token comes. A token costs O(depth) at worst, about as many steps as strings of
different frequency end there, and does not depend on how much is known already.
"""

from __future__ import annotations

from truedraw.compiled import compiled, inner
from truedraw.draft.suffix_nodes import (
    COUNT,
    EDGE,
    EDGES,
    LAST,
    LENGTH,
    LINK,
    MATCHED,
    NEXT,
    NONE,
    PLACE,
    ROOT_STATE,
    SOURCE,
    STATES,
    TARGET,
    TOKEN,
    settle,
    slot_of,
    step,
)


@compiled(error_model="numpy")
def enter(tables, sizes, cursor, depth, tokens):  # type: ignore[no-untyped-def]
    """Append tokens to the text of a cursor; how many were entered, fewer where a table has no room for the next.

    tables = (states [n, 4], edges [n, 4], slots [power of two]).
    """
    states, edges, slots = tables
    for i in range(tokens.shape[0]):
        token = tokens[i]
        if not has_room(tables, sizes, cursor[LAST], token):
            return i
        cursor[LAST] = extended(tables, sizes, cursor[LAST], token)
        place = step(edges, slots, settle(states, cursor[PLACE], cursor[MATCHED]), token)
        cursor[MATCHED] = min(cursor[MATCHED] + 1, depth)
        cursor[PLACE] = settle(states, place, cursor[MATCHED])
        place = cursor[PLACE]
        while place != ROOT_STATE:
            states[place, COUNT] += 1
            place = states[place, LINK]
    return tokens.shape[0]


@compiled(error_model="numpy")
def rehash(edges, used, slots):  # type: ignore[no-untyped-def]
    """Fill an empty table with all edges."""
    for edge in range(used):
        slots[slot_of(edges, slots, edges[edge, SOURCE], edges[edge, TOKEN])] = edge


@inner(error_model="numpy")
def has_room(tables, sizes, last, token):  # type: ignore[no-untyped-def]
    """Whether one more token fits: two states, and the edges it will need.

    Those are new ones along the links, and copies of a state's that is split; that state may have got one just before.
    """
    states, edges, slots = tables
    wanted, at = 0, last
    while at != NONE and step(edges, slots, at, token) == NONE:
        wanted += 1
        at = states[at, LINK]
    if at != NONE:
        wanted += 1
        edge = states[step(edges, slots, at, token), EDGE]
        while edge != NONE:
            wanted += 1
            edge = edges[edge, NEXT]
    return sizes[STATES] + 2 <= states.shape[0] and sizes[EDGES] + wanted <= edges.shape[0]


@inner(error_model="numpy")
def extended(tables, sizes, last, token):  # type: ignore[no-untyped-def]
    """The state of a text with `token` behind it, whose state is `last`."""
    states, edges, slots = tables
    if step(edges, slots, last, token) != NONE:  # another text went this way
        return longest_of(tables, sizes, last, token)
    new = new_state(tables, sizes, states[last, LENGTH] + 1, ROOT_STATE)
    at = last
    while at != NONE and step(edges, slots, at, token) == NONE:
        add_edge(tables, sizes, at, token, new)
        at = states[at, LINK]
    if at != NONE:
        states[new, LINK] = longest_of(tables, sizes, at, token)
    return new


@inner(error_model="numpy")
def longest_of(tables, sizes, state, token):  # type: ignore[no-untyped-def]
    """The state whose longest string is that of `state` with `token` behind it; split off where it has none yet."""
    states, edges, slots = tables
    target = step(edges, slots, state, token)
    length = states[state, LENGTH] + 1
    if states[target, LENGTH] == length:
        return target
    half = new_state(tables, sizes, length, states[target, LINK])
    states[half, COUNT] = states[target, COUNT]
    copy_edges(tables, sizes, target, half)
    states[target, LINK] = half
    at = state
    while at != NONE:
        edge = slots[slot_of(edges, slots, at, token)]
        if edge == NONE or edges[edge, TARGET] != target:
            break
        edges[edge, TARGET] = half
        at = states[at, LINK]
    return half


@inner(error_model="numpy")
def new_state(tables, sizes, length, link):  # type: ignore[no-untyped-def]
    """A state without edges that has not occurred."""
    states = tables[0]
    state = sizes[STATES]
    sizes[STATES] += 1
    states[state, LENGTH], states[state, LINK] = length, link
    states[state, COUNT], states[state, EDGE] = 0, NONE
    return state


@inner(error_model="numpy")
def add_edge(tables, sizes, source, token, target):  # type: ignore[no-untyped-def]
    """An edge, the newest of its state."""
    states, edges, slots = tables
    edge = sizes[EDGES]
    sizes[EDGES] += 1
    edges[edge, SOURCE], edges[edge, TOKEN], edges[edge, TARGET] = source, token, target
    edges[edge, NEXT] = states[source, EDGE]
    states[source, EDGE] = edge
    slots[slot_of(edges, slots, source, token)] = edge


@inner(error_model="numpy")
def copy_edges(tables, sizes, state, half):  # type: ignore[no-untyped-def]
    """Give `half` the edges of `state`, in the same order."""
    states, edges, slots = tables
    edge, before = states[state, EDGE], NONE
    while edge != NONE:
        copy = sizes[EDGES]
        sizes[EDGES] += 1
        edges[copy, SOURCE], edges[copy, TOKEN] = half, edges[edge, TOKEN]
        edges[copy, TARGET], edges[copy, NEXT] = edges[edge, TARGET], NONE
        if before == NONE:
            states[half, EDGE] = copy
        else:
            edges[before, NEXT] = copy
        slots[slot_of(edges, slots, half, edges[copy, TOKEN])] = copy
        before, edge = copy, edges[edge, NEXT]
