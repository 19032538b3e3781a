"""The stages of a pass that are attention: what its rows leave in the cache, and what they find there.

What is in the tuples, and its shapes, stands in runner.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import apart, inlined
from truedraw.engine.native.attention import come, keep, keep_key, page_begins_at, turn
from truedraw.engine.native.heads import NEAR, SLOTS
from truedraw.engine.native.looking import SPAN, look
from truedraw.engine.native.softly import FREE
from truedraw.engine.native.together import copy, round_all, round_part
from truedraw.threads.borrowing import alive, borrowed, flattened
from truedraw.threads.stages import done, ended, next_piece

SPANS = 4  # whose keys and values one thread writes, one behind the other


@apart(fastmath=FREE, error_model="numpy")
def remember(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917 - a stage has all of a pass
    wide, gain, sizes, epsilon, rows, lanes, cache, layer, counters, stage
):
    """Keys, turned, and values into the slots of the pass.

    A piece is some spans and a head, as rows that follow each other write side by side: two threads would take the same
    lines of memory from each other. All that a piece writes to is asked for at once: the counter that it ends with
    waits until all is written.
    """
    num_heads, num_kv, size = sizes
    keys, values = heads_of(layer, num_kv)
    positions, turns, spans = rows[1], rows[4], lanes[7]
    room, flat, in_page = np.empty(size, np.float32), flattened(cache), cache.shape[1]
    key, pieces = borrowed(room), (len(spans) + SPANS - 1) // SPANS * num_kv
    piece = next_piece(counters, stage, pieces)
    while piece >= 0:
        head, following = piece % num_kv, (piece // num_kv + 1) * SPANS
        begin, end = spans[following - SPANS], spans[following] if following < len(spans) else len(wide)
        for row in range(begin, end):
            page, slot = place_of(row, lanes)
            come(flat, page_begins_at(page, in_page, keys + head, size) + slot // NEAR * NEAR * size, NEAR * size)
            come(flat, page_begins_at(page, in_page, values + head, size) + slot * size, size)
        first, value = (num_heads + head) * size, (num_heads + num_kv + head) * size
        for row in range(begin, end):
            page, slot = place_of(row, lanes)
            there = page_begins_at(page, in_page, values + head, size) + slot * size
            keep(wide[row, value : value + size], flat, there)
            copy(wide[row, first : first + size], key)
            turn(key, gain, epsilon, turns[positions[row]])
            keep_key(key, flat, page_begins_at(page, in_page, keys + head, size), slot)
        piece = done(counters, stage, pieces)
    alive(room)
    return ended(counters, stage, pieces)


@apart(fastmath=FREE, error_model="numpy")
def look_back(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    wide, gain, sizes, epsilon, rows, lanes, cache, layer, mixed, rounded, counters, stage
):
    """mixed [n, heads head_dim]: what each row's queries make of the values that it sees; and that rounded.

    A piece is a span of rows of one text and a head of keys, so that these are read once for all of them. Where the
    queries of a head of keys fill whole blocks it rounds them, too.
    """
    num_heads, num_kv, size = sizes
    keys, values = heads_of(layer, num_kv)
    group, spans, longest = num_heads // num_kv, lanes[7], lanes[8]
    positions, turns = rows[1], rows[4]
    fills = group * size % (rounded[0].shape[1] // rounded[1].shape[1]) == 0
    queries, found = np.empty((SPAN * group, size), np.float32), np.empty((SPAN * group, size), np.float32)
    scores, totals = np.empty((SPAN * group, longest + SLOTS), np.float32), np.empty(SPAN * group, np.float32)
    memory, flat, in_page = borrowed((queries, scores, totals, found)), flattened(cache), cache.shape[1]
    piece = next_piece(counters, stage, len(spans) * num_kv)
    while piece >= 0:
        span, head = piece // num_kv, piece % num_kv
        begin, end = spans[span], spans[span + 1] if span + 1 < len(spans) else len(wide)
        come(flat, page_begins_at(first_page(begin, lanes), in_page, keys + head, size), SLOTS * size)
        for q in range((end - begin) * group):
            row, first = begin + q // group, (head * group + q % group) * size
            ask(wide[row], first, gain, epsilon, turns[positions[row]], memory[0][q])
        look(begin, end, group, flat, in_page, (keys + head, values + head), lanes, memory)
        for q in range((end - begin) * group):
            row, first = begin + q // group, (head * group + q % group) * size
            tell(memory[3][q], totals[q], mixed[row], first)
        if fills:
            first, last = head * group * size, (head + 1) * group * size
            for row in range(begin, end):
                round_part(mixed[row], rounded, row, first, last)
        piece = done(counters, stage, len(spans) * num_kv)
    alive((queries, scores, totals, found))
    stage = ended(counters, stage, len(spans) * num_kv)
    return stage if fills else round_all(mixed, rounded, counters, stage)


@inlined(error_model="numpy")
def heads_of(layer, num_kv):  # type: ignore[no-untyped-def]
    """Where a layer's heads of keys begin among all that a page has, and its heads of values."""
    return 2 * layer * num_kv, (2 * layer + 1) * num_kv


@inlined(error_model="numpy")
def place_of(row, lanes):  # type: ignore[no-untyped-def]
    """Where a row's key and value go: a page, and the slot in it."""
    past, begins, pages, page_begins, lane = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6][row]
    slot = past[lane] + row - begins[lane]
    return pages[page_begins[lane] + slot // SLOTS], slot % SLOTS


@inlined(error_model="numpy")
def first_page(row, lanes):  # type: ignore[no-untyped-def]
    """Of a row's text."""
    pages, page_begins, lane_of = lanes[2], lanes[3], lanes[6]
    return pages[page_begins[lane_of[row]]]


@inlined(fastmath=FREE, error_model="numpy")
def ask(wide, first, gain, epsilon, turns, query):  # type: ignore[no-untyped-def]
    """A query [head_dim] of a row, which has it from a place on, turned and scaled."""
    size = len(query)
    copy(wide[first : first + size], query)
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
