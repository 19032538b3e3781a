"""The stages of a pass that are attention: what its rows leave in the cache, and what they find there.

What is in the tuples, and its shapes, stands in runner.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import apart, inlined
from truedraw.engine.native.attention import come, keep, keep_key, page_begins_at, turn, value_begins_at
from truedraw.engine.native.chunks import CHUNK, gather, is_last, run_of
from truedraw.engine.native.heads import NEAR, SLOTS
from truedraw.engine.native.looking import look
from truedraw.engine.native.machine import to_bfloat16
from truedraw.engine.native.softly import FREE, LOG2_E
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
            come(flat, page_begins_at(page, in_page, values + head, size) + value_begins_at(slot, size), 2 * size)
        first, value = (num_heads + head) * size, (num_heads + num_kv + head) * size
        for row in range(begin, end):
            page, slot = place_of(row, lanes)
            there = page_begins_at(page, in_page, values + head, size) + value_begins_at(slot, size)
            keep(wide[row, value : value + size], flat, there)
            copy(wide[row, first : first + size], key)
            turn(key, gain, epsilon, turns[positions[row]])
            keep_key(key, flat, page_begins_at(page, in_page, keys + head, size), slot)
        piece = done(counters, stage, pieces)
    alive(room)
    return ended(counters, stage, pieces)


@apart(fastmath=FREE, error_model="numpy")
def look_back(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    wide, gain, sizes, epsilon, rows, lanes, cache, layer, found, mixed, rounded, counters, stage, ways
):
    """mixed [n, heads head_dim]: what each row's queries make of the values that it sees; and that rounded.

    A piece is a run of chunks, a span of rows of one text and a head of keys, so that these are read once for all of
    them. Who is the last of a span and head gathers what was found, and rounds it where the queries of a head of keys
    fill whole blocks. found: see chunks.Findings, and the stage by which runs of the first piece are counted.
    """
    num_heads, num_kv, size = sizes
    keys, values = heads_of(layer, num_kv)
    group, spans, chunks = num_heads // num_kv, lanes[7], lanes[8] // CHUNK + 1
    lines, pieces = longest_of(spans, len(wide)) * group, len(spans) * num_kv
    fills = group * size % (rounded[0].shape[1] // rounded[1].shape[1]) == 0
    is_shared = len(found[0][3]) > 0
    run = run_of(pieces, chunks, ways.threads) if is_shared else chunks
    runs, kept = (chunks + run - 1) // run, 0 if is_shared else chunks * lines
    queries, query = np.empty((lines, size), np.uint16), np.empty(size, np.float32)
    scores = np.empty((lines, min(lanes[8], CHUNK + len(wide)) + SLOTS), np.float32)
    shares, picked = np.empty(scores.shape, np.uint16), np.empty((len(wide) + 2) * size, np.uint16)
    tops, totals = np.empty(kept, np.float32), np.empty(kept, np.float32)
    sums, ends = np.empty((kept, size), np.float32), np.empty(lines, np.int64)
    memory, flat, in_page = borrowed((queries, scores, shares, picked)), flattened(cache), cache.shape[1]
    own = borrowed((tops, totals, sums, ends))
    findings = found[0] if is_shared else own
    piece, asked = next_piece(counters, stage, pieces * runs), -1
    while piece >= 0:
        whole, first = piece // runs, piece % runs * run
        span, head, base = whole // num_kv, whole % num_kv, whole if is_shared else 0
        begin, end = spans[span], spans[span + 1] if span + 1 < len(spans) else len(wide)
        come(flat, page_begins_at(page_of(begin, first, lanes), in_page, keys + head, size), SLOTS * size)
        first_place, last_place = head * group * size, (head + 1) * group * size
        if whole != asked:
            ask_all(wide, begin, end, first_place, group, gain, epsilon, rows, borrowed(query), memory[0])
        asked = whole
        at = base * chunks * lines, lines, base * lines
        told = findings[0], findings[1], findings[2], findings[3], at
        look(begin, end, group, flat, in_page, (keys + head, values + head), lanes, memory, (first, first + run), told)
        if is_last(counters, found[1] + whole, runs):
            tell_all(told, begin, end, first_place, group, mixed)
            if fills:
                for row in range(begin, end):
                    round_part(mixed[row], rounded, row, first_place, last_place)
        piece = done(counters, stage, pieces * runs)
    alive((queries, query, scores, shares, picked, tops, totals, sums, ends))
    stage = ended(counters, stage, pieces * runs)
    return stage if fills else round_all(mixed, rounded, counters, stage)


@inlined(error_model="numpy")
def heads_of(layer, num_kv):  # type: ignore[no-untyped-def]
    """Where a layer's heads of keys begin among all that a page has, and its heads of values."""
    return 2 * layer * num_kv, (2 * layer + 1) * num_kv


@inlined()
def longest_of(spans, rows):  # type: ignore[no-untyped-def]
    """Rows of the longest span, of so many in all."""
    longest = rows - spans[-1]
    for span in range(len(spans) - 1):
        longest = max(longest, spans[span + 1] - spans[span])
    return longest


@inlined(error_model="numpy")
def place_of(row, lanes):  # type: ignore[no-untyped-def]
    """Where a row's key and value go: a page, and the slot in it."""
    past, begins, pages, page_begins, lane = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6][row]
    slot = past[lane] + row - begins[lane]
    return pages[page_begins[lane] + slot // SLOTS], slot % SLOTS


@inlined(error_model="numpy")
def page_of(row, chunk, lanes):  # type: ignore[no-untyped-def]
    """The page of a row's text in which a chunk begins; its first one for chunks that it does not have."""
    pages, page_begins, lane = lanes[2], lanes[3], lanes[6][row]
    number = page_begins[lane] + chunk * (CHUNK // SLOTS)
    return pages[number if number < page_begins[lane + 1] else page_begins[lane]]


@inlined(error_model="numpy")
def ask_all(wide, begin, end, first, group, gain, epsilon, rows, query, queries):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """queries [(end - begin) group, head_dim] of these rows, which each has side by side from place `first` on, as
    bfloat16."""
    positions, turns, size = rows[1], rows[4], queries.shape[1]
    for q in range((end - begin) * group):
        row = begin + q // group
        ask(wide[row], first + q % group * size, gain, epsilon, turns[positions[row]], query)
        for k in range(size):
            queries[q, k] = to_bfloat16(query[k])


@inlined(error_model="numpy")
def tell_all(told, begin, end, first, group, mixed):  # type: ignore[no-untyped-def]
    """What they have found in all chunks, see looking.look, to the same places of `mixed`."""
    tops, totals, sums, ends, (line, gap, end_of) = told
    size = sums.shape[1]
    for q in range((end - begin) * group):
        place = first + q % group * size
        out = mixed[begin + q // group, place : place + size]
        gather(tops, totals, sums, line + q, gap, ends[end_of + q], out)


@inlined(fastmath=FREE, error_model="numpy")
def ask(wide, first, gain, epsilon, turns, query):  # type: ignore[no-untyped-def]
    """A query [head_dim] of a row, which has it from a place on, turned and scaled: scores are powers of 2."""
    size = len(query)
    copy(wide[first : first + size], query)
    turn(query, gain, epsilon, turns)
    scale = LOG2_E / np.sqrt(np.float32(size))
    for k in range(size):
        query[k] *= scale
