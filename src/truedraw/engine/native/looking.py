"""What the queries of some rows find in their text: slots before them together, then what each sees beside.

What is in `lanes` stands in runner.py. Slots are gone through along the text, whoever looks: see attention.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.attention import AHEAD, compare, mix, page_begins_at
from truedraw.engine.native.chunks import CHUNK, are_shared, soften
from truedraw.engine.native.heads import SLOTS

SPAN = 4  # rows of a text whose queries meet its keys and values together


def span(rows: int, longest: int, heads: int, threads: int) -> int:
    """Rows of a text that is alone, of which that many threads take some for a head of keys each: half of few, where
    these heads would leave a thread without any, and where keys are read twice for so many anyway."""
    is_even = heads % threads == 0 or are_shared(heads, longest // CHUNK + 1, threads)
    return SPAN if is_even or not SPAN // 2 < rows <= SPAN else SPAN // 2


@inlined(error_model="numpy")
def look(begin, end, group, flat, heads, head, lanes, memory, run, kept):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """Of the rows begin .. end - 1 of a text, and `group` queries each that share a head of keys and one of values,
    what they find in the chunks of a run, first and behind the last.

    flat: all keys and values, see compare; head: the places of these two among the heads of a page. memory: queries,
    and room for scores. kept: tops, totals and sums of each line and chunk; of each line the chunks that it sees, told
    with the last one; and the first line's place, how far on those of the next chunk stand, and its place among ends.
    """
    past, begins, pages, lane = lanes[0], lanes[1], lanes[2], lanes[6][begin]
    page, slots = lanes[3][lane], past[lane] + end - begins[lane]
    is_masked = lanes[5][lane] < lanes[5][lane + 1]
    shared = past[lane] if is_masked else past[lane] + begin - begins[lane]  # slots that all of these rows see
    queries, scores, sums, (line, gap, told) = memory[0], memory[1], kept[2], kept[4]
    n, last, until = (end - begin) * group, shared // CHUNK, page + pages_of(min(slots, run[1] * CHUNK))
    for chunk in range(run[0], min(run[1], last + 1)):
        first, here = chunk * CHUNK, line + chunk * gap
        behind = pages_of(first + CHUNK if chunk < last else slots)
        compare(queries, n, flat, heads, head, pages, page + pages_of(first), page + behind, scores)
        for q in range(n):
            row = begin + q // group
            count = CHUNK if chunk < last else visible(row, first, lanes, scores[q])
            seen = soften_all(scores[q], count, kept, here + q)
            if chunk == last:
                kept[3][told + q] = chunk + seen
        count = min(CHUNK, shared - first)
        mix_slots(scores, 0, n, 0, first, count, flat, heads, head, pages, page, until, sums, here)
        for row in range(begin if chunk == last else end, end):
            q = (row - begin) * group
            mix_own(row, shared, first, lanes, scores, q, group, flat, heads, head, sums, here, gap)


@inlined()
def pages_of(slots):  # type: ignore[no-untyped-def]
    """So many slots are in."""
    return (slots + SLOTS - 1) // SLOTS


@inlined(error_model="numpy")
def soften_all(scores, count, kept, line):  # type: ignore[no-untyped-def]
    """So many scores, from the beginning of a chunk on; how many chunks that are."""
    tops, totals, sums, gap = kept[0], kept[1], kept[2], kept[4][1]
    chunks = 0
    for begin in range(0, count, CHUNK):
        here = line + chunks * gap
        tops[here], totals[here] = soften(scores[begin : min(begin + CHUNK, count)])
        for k in range(sums.shape[1]):
            sums[here, k] = np.float32(0)
        chunks += 1
    return chunks


@inlined(error_model="numpy")
def sees(row, slot, lanes):  # type: ignore[no-untyped-def]
    """Whether a row sees a slot of the pass; all before it everybody does."""
    past, begins, masks, mask_begins, lane = lanes[0], lanes[1], lanes[4], lanes[5], lanes[6][row]
    if mask_begins[lane] == mask_begins[lane + 1]:
        return True
    place, width = row - begins[lane], begins[lane + 1] - begins[lane]
    return masks[mask_begins[lane] + place * width + slot - past[lane]] != 0


@inlined(error_model="numpy")
def visible(row, first, lanes, scores):  # type: ignore[no-untyped-def]
    """How many slots from `first` on a row sees, itself the last; scores of slots then begin with these."""
    past, begins, lane = lanes[0], lanes[1], lanes[6][row]
    behind = past[lane] + row - begins[lane] + 1
    if lanes[5][lane] == lanes[5][lane + 1]:
        return behind - first
    count = past[lane] - first
    for slot in range(past[lane], behind):
        if sees(row, slot, lanes):
            scores[count] = scores[slot - first]
            count += 1
    return count


@inlined(error_model="numpy")
def mix_slots(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    shares, begin, end, at, slot, n, flat, heads, head, pages, page, behind, sums, line
):
    """As `mix`, of the values in n slots of a text from `slot` on, whose pages begin with number `page`; then the keys
    of pages before number `behind` are wanted."""
    gone, size = 0, sums.shape[1]
    while gone < n:
        number, place = page + (slot + gone) // SLOTS, (slot + gone) % SLOTS
        count = min(SLOTS - place, n - gone)
        start = page_begins_at(pages[number], heads, head[1], size) + place * size
        then, kind = start, 1 if gone + AHEAD * SLOTS < n else 0
        if kind or number + AHEAD < behind:
            then = page_begins_at(pages[number + AHEAD], heads, head[kind], size) + place * size
        mix(shares, begin, end, at + gone, count, flat, start, then, sums, line)
        gone += count


@inlined(error_model="numpy")
def mix_own(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    row, shared, first, lanes, shares, begin, group, flat, heads, head, sums, line, gap
):
    """Of one row: the values of those slots, from number `shared` on, that it sees; all before these it does. They may
    reach into the next chunk, and beyond."""
    past, begins, pages, page_begins, lane = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6][row]
    slot, count = shared, shared - first
    end = past[lane] + row - begins[lane] + 1
    while slot < end:
        here, room = slot, CHUNK - count % CHUNK
        while slot < end and slot < here + room and sees(row, slot, lanes):
            slot += 1
        n, page = slot - here, page_begins[lane]
        into = line + count // CHUNK * gap
        mix_slots(shares, begin, begin + group, count, here, n, flat, heads, head, pages, page, 0, sums, into)
        count += n
        if n < room:
            slot += 1
