"""One row's attention to its text: rotary positions, the cache, and the sums over what the row sees.

A row sees the slots of its text before the pass and those rows of its lane that stand before it, or of a tree its
ancestors. They are gone through in the order of the text, so that a row's sums are the same whether it comes alone, in
a chain or as a node of a tree among strangers, and whatever pages its text lies in.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.heads import COLUMNS, MOST_QUERIES, NEAR, PLACES, SLOTS, asking, compare_page, mix_slots
from truedraw.engine.native.machine import to_bfloat16
from truedraw.engine.native.softly import FREE
from truedraw.sampling.kernels.bits import FIRST_CACHE, SECOND_CACHE
from truedraw.threads.borrowing import flattened

LATER, SOON = 3, 1  # pages ahead that are asked for, each twice: of many requests at once some are dropped
mix_wide, mix_narrow = (mix_slots(columns) for columns in COLUMNS)
come, come_later = asking(FIRST_CACHE), asking(SECOND_CACHE)


@inlined(fastmath=FREE, error_model="numpy")
def turn(head, gain, epsilon, turns):  # type: ignore[no-untyped-def]
    """A query or key [head_dim], in place: normed by a gain where that has numbers, and rotated, halves paired.

    turns: cosines and sines of its position [2, head_dim].
    """
    cos, sin = turns[0], turns[1]
    size, half = len(head), len(head) // 2
    if len(gain):
        squares = np.float32(0)
        for k in range(size):
            squares += head[k] * head[k]
        factor = np.float32(1) / np.sqrt(squares / np.float32(size) + epsilon)
        for k in range(size):
            head[k] = head[k] * factor * gain[k]
    for k in range(half):
        first, second = head[k], head[half + k]
        head[k] = first * cos[k] - second * sin[k]
        head[half + k] = second * cos[half + k] + first * sin[half + k]


@inlined(error_model="numpy")
def keep(numbers, slots, first):  # type: ignore[no-untyped-def]
    """A value [head_dim] into slots, flat, as bfloat16: to every other place from one on, see heads.mix_slots."""
    own = slots[first : first + 2 * len(numbers) - 1]
    for k in range(len(numbers)):
        own[2 * k] = to_bfloat16(numbers[k])


@inlined(error_model="numpy")
def keep_key(numbers, slots, page, slot):  # type: ignore[no-untyped-def]
    """The same of a key, into a slot of the page that begins at a place, see heads.compare_page."""
    first = page + (slot // NEAR) * NEAR * len(numbers) + PLACES * (slot % NEAR)
    own = slots[first : first + len(numbers) * NEAR - PLACES * (NEAR - 1)]
    for part in range(len(numbers) // PLACES):
        for k in range(PLACES):
            own[part * PLACES * NEAR + k] = to_bfloat16(numbers[part * PLACES + k])


@inlined()
def value_begins_at(slot, size):  # type: ignore[no-untyped-def]
    """Where a value begins in a page, or in as many slots as there are, of pairs: see heads.mix_slots."""
    return slot // 2 * 2 * size + slot % 2


@inlined()
def page_begins_at(page, heads, head, size):  # type: ignore[no-untyped-def]
    """Where the keys, or the values, of a page and of one of so many heads in it begin, of all of them flat."""
    return (page * heads + head) * size * SLOTS


@inlined()
def compare(queries, n, flat, heads, head, pages, begin, end, scores):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """scores [n, slots] of queries [n, head_dim] that share keys, over the pages number begin .. end - 1.

    flat: keys and values [pages, heads, head_dim SLOTS] of all layers, see heads.compare_page for keys of one head;
    head: the place of these keys among the heads of a page, and that of the values that are wanted next.
    """
    size, gap = queries.shape[1], scores.shape[1]
    lines, out = flattened(queries), flattened(scores)
    for number in range(begin, end):
        key = page_begins_at(pages[number], heads, head[0], size)
        come_later(flat, wanted(number + SOON, begin, end, heads, head, pages, size), size * SLOTS)
        later = wanted(number + LATER, begin, end, heads, head, pages, size)
        for q in range(0, n, MOST_QUERIES):
            first, at = q * size, q * gap + (number - begin) * SLOTS
            compare_page(min(n - q, MOST_QUERIES), lines, first, size, flat, key, later, out, at, gap)
            later = key


@inlined()
def wanted(number, begin, end, heads, head, pages, size):  # type: ignore[no-untyped-def]
    """Where page `number` of keys begins, of the pages begin .. end - 1; behind these come their values."""
    if number < end:
        return page_begins_at(pages[number], heads, head[0], size)
    return page_begins_at(pages[min(begin + number - end, end - 1)], heads, head[1], size)


@inlined()
def mix(shares, begin, end, first, n, values, place, then, out, row):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """out [row + q, head_dim] += sum_{i < n} shares[q, first + i] times value i from a place on; begin <= q < end.

    values: flat, in pairs, see heads.mix_slots; of an odd number the last has a share of 0 behind it. A sum goes along
    the text, in as many calls as it may be. then: the place of what is wanted later.
    """
    size, line = out.shape[1], shares.shape[1]
    weights, target, pairs = flattened(shares), flattened(out), (n + 1) // 2
    for q in range(begin, end, MOST_QUERIES):
        queries, column = min(MOST_QUERIES, end - q), 0
        while column < size:
            there, here, at = q * line + first, place + 2 * column, (row + q) * size + column
            later = here if q > begin else then + 2 * column
            if size - column >= COLUMNS[0]:
                mix_wide(queries, weights, there, line, values, here, later, size, pairs, target, at, size)
                column += COLUMNS[0]
            else:
                mix_narrow(queries, weights, there, line, values, here, later, size, pairs, target, at, size)
                column += COLUMNS[1]
