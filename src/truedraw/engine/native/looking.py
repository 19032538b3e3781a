"""What the queries of some rows find in their text: slots before them together, then what each sees beside.

What is in `lanes` stands in runner.py. Slots are gone through along the text, whoever looks: see attention.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.attention import AHEAD, compare, mix, page_begins_at, softened
from truedraw.engine.native.heads import SLOTS

SPAN = 4  # rows of a text whose queries meet its keys and values together


def span(rows: int, heads: int, threads: int) -> int:
    """Rows of a text that is alone, of which that many threads take some for a head of keys each: half of few, where
    these heads would leave a thread without any, and where keys are read twice for so many anyway."""
    return SPAN // 2 if SPAN // 2 < rows <= SPAN and heads % threads else SPAN


@inlined(error_model="numpy")
def look(begin, end, group, flat, heads, head, lanes, memory):  # type: ignore[no-untyped-def]
    """Of the rows begin .. end - 1 of a text, and `group` queries each that share a head of keys and one of values.

    flat: all keys and values, see compare; head: the places of these two among the heads of a page. memory: queries,
    scores, totals and found; the last two are filled.
    """
    value = head[1]
    queries, scores, totals, found = memory
    past, begins, pages, page_begins, mask_begins, lane = (
        lanes[0],
        lanes[1],
        lanes[2],
        lanes[3],
        lanes[5],
        lanes[6][begin],
    )
    n, page, slots = (end - begin) * group, page_begins[lane], past[lane] + end - begins[lane]
    compare(queries, n, flat, heads, head, pages, page, page + (slots + SLOTS - 1) // SLOTS, scores)
    for row in range(begin, end):
        first = (row - begin) * group
        count = visible(row, lanes, scores, first, first + group)
        for q in range(first, first + group):
            totals[q] = softened(scores, q, count)
            found[q] = np.float32(0)
    masked = mask_begins[lane] < mask_begins[lane + 1]
    shared = past[lane] if masked else past[lane] + begin - begins[lane]
    mix_slots(scores, 0, n, 0, 0, shared, flat, heads, value, pages, page, found)
    for row in range(begin, end):
        mix_own(row, shared, lanes, scores, (row - begin) * group, group, flat, heads, value, found)


@inlined(error_model="numpy")
def sees(row, slot, lanes):  # type: ignore[no-untyped-def]
    """Whether a row sees a slot of the pass; all before it everybody does."""
    past, begins, masks, mask_begins, lane = lanes[0], lanes[1], lanes[4], lanes[5], lanes[6][row]
    if mask_begins[lane] == mask_begins[lane + 1]:
        return True
    place, width = row - begins[lane], begins[lane + 1] - begins[lane]
    return masks[mask_begins[lane] + place * width + slot - past[lane]] != 0


@inlined(error_model="numpy")
def visible(row, lanes, scores, begin, end):  # type: ignore[no-untyped-def]
    """How many slots a row sees, itself the last; lines begin .. end - 1 of scores then begin with these."""
    past, begins, mask_begins, lane = lanes[0], lanes[1], lanes[5], lanes[6][row]
    behind = past[lane] + row - begins[lane] + 1
    if mask_begins[lane] == mask_begins[lane + 1]:
        return behind
    count = past[lane]
    for slot in range(past[lane], behind):
        if sees(row, slot, lanes):
            for q in range(begin, end):
                scores[q, count] = scores[q, slot]
            count += 1
    return count


@inlined(error_model="numpy")
def mix_slots(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    shares, begin, end, first, slot, n, flat, heads, head, pages, page, found
):
    """As `mix`, of the values in n slots of a text from `slot` on, whose pages begin with number `page`."""
    gone, size = 0, found.shape[1]
    while gone < n:
        number, place = page + (slot + gone) // SLOTS, (slot + gone) % SLOTS
        count = min(SLOTS - place, n - gone)
        start = page_begins_at(pages[number], heads, head, size) + place * size
        then = start
        if gone + AHEAD * SLOTS < n:
            then = page_begins_at(pages[number + AHEAD], heads, head, size) + place * size
        mix(shares, begin, end, first + gone, count, flat, start, then, found)
        gone += count


@inlined(error_model="numpy")
def mix_own(row, shared, lanes, shares, begin, group, flat, heads, head, found):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """Of one row: the values of those slots, from number `shared` on, that it sees; all before these it does."""
    past, begins, pages, page_begins, lane = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6][row]
    count = slot = shared
    end = past[lane] + row - begins[lane] + 1
    while slot < end:
        first = slot
        while slot < end and sees(row, slot, lanes):
            slot += 1
        n, page = slot - first, page_begins[lane]
        mix_slots(shares, begin, begin + group, count, first, n, flat, heads, head, pages, page, found)
        count += n
        slot += 1
