"""The stages of a pass that are attention: what its rows leave in the cache, and what they find there.

What is in the tuples, and its shapes, stands in runner.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.attention import keep, turn
from truedraw.engine.native.heads import SLOTS
from truedraw.engine.native.looking import SPAN, look
from truedraw.engine.native.softly import FREE
from truedraw.engine.native.stages import done, ended, next_piece
from truedraw.sampling.kernels.bits import alive, borrowed


@inlined(fastmath=FREE, error_model="numpy")
def remember(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917 - a stage has all of a pass
    wide, gain, sizes, epsilon, rows, lanes, keys, values, counters, stage
):
    """Keys, turned, and values into the slots of the pass.

    A piece is a span of rows and a head, as rows that follow each other write side by side: two threads would take
    the same lines of memory from each other.
    """
    num_heads, num_kv, size = sizes
    past, begins, pages, page_begins, lane_of, spans = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6], lanes[7]
    positions, turns = rows[1], rows[4]
    room = np.empty(size, np.float32)
    key = borrowed(room)
    piece = next_piece(counters, stage, len(spans) * num_kv)
    while piece >= 0:
        begin, head = spans[piece // num_kv], piece % num_kv
        first = (num_heads + head) * size
        for row in range(begin, end_of(begin, lanes)):
            lane = lane_of[row]
            slot = past[lane] + row - begins[lane]
            page = pages[page_begins[lane] + slot // SLOTS]
            key[:] = wide[row, first : first + size]
            turn(key, gain, epsilon, turns[positions[row]])
            keep(key, keys[page, head], slot % SLOTS, True)
            value = first + num_kv * size
            keep(wide[row, value : value + size], values[page, head], slot % SLOTS, False)
        piece = done(counters, stage, len(spans) * num_kv)
    alive(room)
    return ended(counters, stage, len(spans) * num_kv)


@inlined(fastmath=FREE, error_model="numpy")
def look_back(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    wide, gain, sizes, epsilon, rows, lanes, keys, values, mixed, counters, stage
):
    """mixed [n, heads head_dim]: what each row's queries make of the values that it sees.

    A piece is a span of rows of one text and a head of keys, so that these are read once for all of them.
    """
    num_heads, num_kv, size = sizes
    group, spans, longest = num_heads // num_kv, lanes[7], lanes[8]
    positions, turns = rows[1], rows[4]
    queries, found = np.empty((SPAN * group, size), np.float32), np.empty((SPAN * group, size), np.float32)
    scores, totals = np.empty((SPAN * group, longest + SLOTS), np.float32), np.empty(SPAN * group, np.float32)
    memory, flat = borrowed((queries, scores, totals, found)), borrowed((keys.reshape(-1), values.reshape(-1)))
    piece = next_piece(counters, stage, len(spans) * num_kv)
    while piece >= 0:
        begin, head = spans[piece // num_kv], piece % num_kv
        end = end_of(begin, lanes)
        for q in range((end - begin) * group):
            row, first = begin + q // group, (head * group + q % group) * size
            ask(wide[row], first, gain, epsilon, turns[positions[row]], memory[0][q])
        look(begin, end, group, flat, num_kv, head, lanes, memory)
        for q in range((end - begin) * group):
            row, first = begin + q // group, (head * group + q % group) * size
            tell(memory[3][q], totals[q], mixed[row], first)
        piece = done(counters, stage, len(spans) * num_kv)
    alive((queries, scores, totals, found))
    return ended(counters, stage, len(spans) * num_kv)


@inlined(error_model="numpy")
def end_of(begin, lanes):  # type: ignore[no-untyped-def]
    """Behind the last row of the span that begins with a row."""
    begins, lane_of = lanes[1], lanes[6]
    return min(begin + SPAN, begins[lane_of[begin] + 1])


@inlined(fastmath=FREE, error_model="numpy")
def ask(wide, first, gain, epsilon, turns, query):  # type: ignore[no-untyped-def]
    """A query [head_dim] of a row, which has it from a place on, turned and scaled."""
    size = len(query)
    query[:] = wide[first : first + size]
    turn(query, gain, epsilon, turns)
    scale = np.float32(1) / np.sqrt(np.float32(size))
    for k in range(size):
        query[k] *= scale


@inlined(error_model="numpy")
def tell(found, total, mixed, first):  # type: ignore[no-untyped-def]
    """What a query has found [head_dim], in shares of a total, to its place in a row."""
    target = mixed[first : first + len(found)]
    for k in range(len(found)):
        target[k] = found[k] / total
