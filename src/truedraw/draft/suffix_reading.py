"""Drafting from a suffix automaton: what followed the longest known suffix of a text, and how often.

A token's estimated chance is its share of what followed the same suffix. A draft is grown from the likeliest node
on, so that its nodes stand in the order of their chances and parents before children; a chain is grown by the likeliest
child of each node alone. Where the known text ends, the draft goes on from the longest shorter suffix that went on
somewhere, so a period is drafted in full.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.draft.suffix_nodes import (
    COUNT,
    EDGE,
    LENGTH,
    LINK,
    MATCHED,
    NEXT,
    NONE,
    PLACE,
    ROOT_STATE,
    TARGET,
    TOKEN,
    settle,
    step,
)


@compiled(error_model="numpy")
def follow(tables, cursor, depth, tokens):  # type: ignore[no-untyped-def]
    """Move a cursor's place on behind tokens that are not entered: their longest suffix that occurs."""
    states, edges, slots = tables
    for token in tokens:
        state, length = settle(states, cursor[PLACE], cursor[MATCHED]), cursor[MATCHED]
        while state != ROOT_STATE and step(edges, slots, state, token) == NONE:
            state = states[state, LINK]
            length = states[state, LENGTH]
        target = step(edges, slots, state, token)
        if target == NONE:
            cursor[PLACE], cursor[MATCHED] = ROOT_STATE, 0
        else:
            cursor[MATCHED] = min(length + 1, depth)
            cursor[PLACE] = settle(states, target, cursor[MATCHED])


@compiled(error_model="numpy")
def match(states, place, length, longest):  # type: ignore[no-untyped-def]
    """(state, length) of the longest suffix, of at most `longest` tokens, that something followed."""
    length = min(length, longest)
    state = settle(states, place, length)
    while state != ROOT_STATE and states[state, EDGE] == NONE:
        state = states[state, LINK]
        length = states[state, LENGTH]
    return state, length


@compiled(error_model="numpy")
def draft(tables, place, rules, board):  # type: ignore[no-untyped-def]
    """Fill the board; how many nodes. place = (state, length of its string); rules = (longest suffix, floor, is_tree).

    board = (tokens [budget], parents [budget], chances [budget], places [budget, 2]): the nodes in their order, and
    behind them while it grows, sorted by chance, those that may become nodes yet.
    """
    _, _, chances, places = board
    size = offer(tables, board, (0, 0), (place[0], place[1], 1.0, NONE), rules)
    node = 0
    while node < size:
        above = (np.int64(places[node, 0]), np.int64(places[node, 1]), chances[node], node)
        node += 1
        size = offer(tables, board, (node, size), above, rules)
    return node


@inner(error_model="numpy")
def offer(tables, board, span, above, rules):  # type: ignore[no-untyped-def]
    """Enter what followed a node among the candidates board[first:size]; the new size.

    above = (state, length, chance, node) of the parent.
    """
    states, edges, _ = tables
    longest, floor, is_tree = rules
    state, length = match(states, above[0], above[1], longest)
    first, size = span
    if state == ROOT_STATE or first == board[0].shape[0]:
        return size
    total, most = followers(states, edges, state)
    edge = states[state, EDGE]
    while edge != NONE:
        count = states[edges[edge, TARGET], COUNT]
        chance = above[2] * count / total
        if chance >= floor and (is_tree or count == most):
            node, place = (edges[edge, TOKEN], above[3], chance), (np.int64(edges[edge, TARGET]), np.int64(length + 1))
            size = insert(board, (first, size), node, place)
            if not is_tree:
                break
        edge = edges[edge, NEXT]
    return size


@inner(error_model="numpy")
def followers(states, edges, state):  # type: ignore[no-untyped-def]
    """(sum, largest) of the counts of what followed a state."""
    total, most, edge = 0, 0, states[state, EDGE]
    while edge != NONE:
        count = states[edges[edge, TARGET], COUNT]
        total, most = total + count, max(most, count)
        edge = edges[edge, NEXT]
    return total, most


@inner(error_model="numpy")
def insert(board, span, node, place):  # type: ignore[no-untyped-def]
    """Into the sorted candidates, behind equals; the last falls out of a full board. The new size.

    node = (token, parent, chance); place: what is kept of it to go on from there, a row of the board's places.
    """
    tokens, parents, chances, places = board
    first, size = span
    at = size
    while at > first and chances[at - 1] < node[2]:
        at -= 1
    if at == tokens.shape[0]:
        return size
    size = min(size + 1, tokens.shape[0])
    for i in range(size - 1, at, -1):
        tokens[i], parents[i], chances[i] = tokens[i - 1], parents[i - 1], chances[i - 1]
        for column in range(places.shape[1]):  # the assignment of a whole row takes two seconds to compile
            places[i, column] = places[i - 1, column]
    tokens[at], parents[at], chances[at] = node
    for column in range(places.shape[1]):
        places[at, column] = place[column]
    return size
