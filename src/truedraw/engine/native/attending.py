"""The stages of a pass that are attention: what its rows leave in the cache, and what they find there.

What is in the tuples, and its shapes, stands in runner.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner
from truedraw.engine.native.attention import compare, keep, mix, turn
from truedraw.engine.native.heads import SLOTS
from truedraw.engine.native.products import FREE
from truedraw.engine.native.stages import done, ended, next_piece


@inner(fastmath=FREE, error_model="numpy")
def remember(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917 - a stage has all of a pass
    wide, gain, sizes, epsilon, rows, lanes, keys, values, counters, stage
):
    """Keys, turned, and values into the slots of the pass."""
    num_heads, num_kv, size = sizes
    cos, sin, attention_rows = rows[1], rows[2], rows[3]
    past, begins, pages, page_begins, lane_of = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6]
    key = np.empty(size, np.float32)
    at = next_piece(counters, stage, len(attention_rows))
    while at >= 0:
        row, lane = attention_rows[at], lane_of[at]
        slot = past[lane] + at - begins[lane]
        page = pages[page_begins[lane] + slot // SLOTS]
        for head in range(num_kv):
            first = (num_heads + head) * size
            key[:] = wide[row, first : first + size]
            turn(key, gain, epsilon, cos[row], sin[row])
            keep(key, keys[page, head], slot % SLOTS, True)
            first += num_kv * size
            keep(wide[row, first : first + size], values[page, head], slot % SLOTS, False)
        at = done(counters, stage, len(attention_rows))
    return ended(counters, stage, len(attention_rows))


@inner(fastmath=FREE, error_model="numpy")
def look_back(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    wide, gain, sizes, epsilon, rows, lanes, keys, values, mixed, counters, stage
):
    """mixed [n, heads head_dim]: what each row's queries make of the values that it sees."""
    num_heads, num_kv, size = sizes
    group, n = num_heads // num_kv, len(wide)
    cos, sin, back_rows = rows[1], rows[2], rows[4]
    queries, found = np.empty((group, size), np.float32), np.empty((group, size), np.float32)
    places, scores = np.empty(lanes[7], np.int64), np.empty((group, lanes[7] + SLOTS), np.float32)
    scale = np.float32(1) / np.sqrt(np.float32(size))
    piece = next_piece(counters, stage, n * num_kv)
    while piece >= 0:
        row, head = piece // num_kv, piece % num_kv
        for g in range(group):
            first = (head * group + g) * size
            queries[g] = wide[row, first : first + size]
            turn(queries[g], gain, epsilon, cos[row], sin[row])
            for k in range(size):
                queries[g, k] *= scale
        pages, length = seen_pages(back_rows[row], lanes)
        compare(queries, keys, head, pages, scores)
        count = visible(back_rows[row], lanes, length, places, scores)
        for number in range(count):
            slot = places[number]
            places[number] = ((pages[slot // SLOTS] * num_kv + head) * SLOTS + slot % SLOTS) * size
        mix(scores, values, places[:count], found)
        for g in range(group):
            first = (head * group + g) * size
            mixed[row, first : first + size] = found[g]
        piece = done(counters, stage, n * num_kv)
    return ended(counters, stage, n * num_kv)


@inner(error_model="numpy")
def seen_pages(at, lanes):  # type: ignore[no-untyped-def]
    """The pages of attention row number `at` and those before it, and how many slots of them that is."""
    past, begins, pages, page_begins, lane_of = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6]
    lane = lane_of[at]
    length, first = past[lane] + at - begins[lane] + 1, page_begins[lane]
    return pages[first : first + (length + SLOTS - 1) // SLOTS], length


@inner(error_model="numpy")
def visible(at, lanes, length, seen, scores):  # type: ignore[no-untyped-def]
    """How many of `length` slots attention row `at` sees, itself the last; `seen` and scores then begin with these."""
    past, begins, masks, mask_begins, lane = lanes[0], lanes[1], lanes[4], lanes[5], lanes[6][at]
    for slot in range(length):
        seen[slot] = slot
    mask, width = mask_begins[lane], begins[lane + 1] - begins[lane]
    if mask == mask_begins[lane + 1]:
        return length
    count, line = past[lane], mask + (at - begins[lane]) * width
    for slot in range(past[lane], length):
        if masks[line + slot - past[lane]]:
            seen[count] = slot
            for g in range(len(scores)):
                scores[g, count] = scores[g, slot]
            count += 1
    return count
