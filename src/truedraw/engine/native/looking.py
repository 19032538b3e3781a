"""What the queries of some rows find in their text: slots before them together, then what each sees beside.

What is in `lanes` stands in runner.py. Slots are gone through along the text, whoever looks: see attention.py.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.attention import LATER, SOON, come_later, compare, mix, page_begins_at, value_begins_at
from truedraw.engine.native.chunks import CHUNK, soften
from truedraw.engine.native.heads import SLOTS


@inlined(error_model="numpy")
def look(begin, end, group, flat, heads, head, lanes, memory, run, kept):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """Of the rows begin .. end - 1 of a text, and `group` queries each that share a head of keys and one of values,
    what they find in the chunks of a run, first and behind the last.

    flat: all keys and values, see compare; head: the place of these two among the heads of a page. memory: queries,
    and room for scores, their shares, and values that one row picks. kept: tops, totals and sums of each line and
    chunk; of each line the chunks that it sees, told with the last one; and the first line's place, how far on those of
    the next chunk stand, and its place among ends.
    """
    past, begins, pages, lane = lanes[0], lanes[1], lanes[2], lanes[6][begin]
    page, slots = lanes[3][lane], past[lane] + end - begins[lane]
    is_masked = lanes[5][lane] < lanes[5][lane + 1]
    shared = past[lane] if is_masked else past[lane] + begin - begins[lane]  # slots that all of these rows see
    shared -= shared % 2  # whole pairs of values
    queries, scores, shares, picked = memory
    sums, (line, gap, told) = kept[2], kept[4]
    n, last, until = (end - begin) * group, shared // CHUNK, page + pages_of(min(slots, run[1] * CHUNK))
    for chunk in range(run[0], min(run[1], last + 1)):
        first, here = chunk * CHUNK, line + chunk * gap
        behind = pages_of(first + CHUNK if chunk < last else slots)
        compare(queries, n, flat, heads, head, pages, page + pages_of(first), page + behind, scores)
        for q in range(n):
            row = begin + q // group
            count = CHUNK if chunk < last else visible(row, first, lanes, scores[q])
            seen = soften_all(scores[q], shares[q], count, kept, here + q)
            if chunk == last:
                kept[3][told + q] = chunk + seen
        count = min(CHUNK, shared - first)
        mix_slots(shares, n, first, count, flat, heads, head, pages, page, until, sums, here)
        for row in range(begin if chunk == last else end, end):
            seen = pick(row, shared, lanes, flat, heads, head[1], sums.shape[1], picked)
            mix_own(shares, (row - begin) * group, group, shared - first, seen, picked, sums, here, gap)


@inlined()
def pages_of(slots):  # type: ignore[no-untyped-def]
    """So many slots are in."""
    return (slots + SLOTS - 1) // SLOTS


@inlined(error_model="numpy")
def soften_all(scores, shares, count, kept, line):  # type: ignore[no-untyped-def]
    """Of so many scores, from the beginning of a chunk on, shares, with a 0 behind an odd number; how many chunks that
    are."""
    tops, totals, sums, gap = kept[0], kept[1], kept[2], kept[4][1]
    chunks = 0
    for begin in range(0, count, CHUNK):
        here = line + chunks * gap
        end = min(begin + CHUNK, count)
        tops[here], totals[here] = soften(scores[begin:end], shares[begin:end])
        for k in range(sums.shape[1]):
            sums[here, k] = np.float32(0)
        chunks += 1
    if count % 2:
        shares[count] = np.uint16(0)
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
def mix_slots(shares, n, slot, count, flat, heads, head, pages, page, behind, sums, line):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """As `mix`, of n lines of shares and `count` slots of a text from `slot` on, both even, whose pages begin with
    number `page`; then the keys of pages before number `behind` are wanted."""
    gone, size, last = 0, sums.shape[1], page + (slot + count - 1) // SLOTS
    while gone < count:
        number, place = page + (slot + gone) // SLOTS, (slot + gone) % SLOTS
        some = min(SLOTS - place, count - gone)
        start = page_begins_at(pages[number], heads, head[1], size) + place * size
        come_later(flat, after(number + SOON, last, behind, start, heads, head, pages, size), size * SLOTS)
        later = after(number + LATER, last, behind, start, heads, head, pages, size)
        mix(shares, 0, n, gone, some, flat, start, later, sums, line)
        gone += some


@inlined()
def after(number, last, behind, here, heads, head, pages, size):  # type: ignore[no-untyped-def]
    """Where page `number` of values begins, up to the last; then come keys of the next chunk's, before page `behind`;
    or nothing."""
    if number > last and number >= behind:
        return here
    return page_begins_at(pages[number], heads, head[0 if number > last else 1], size)


@inlined(error_model="numpy")
def pick(row, first, lanes, flat, heads, values, size, picked):  # type: ignore[no-untyped-def]
    """Of one row, the values of those slots from an even one on that it sees, in pairs side by side as if there were no
    others, the last one twice where it is alone; how many these are.

    So its sums are those of a chain, and what it does not see has no part in them, be it no number.
    """
    past, begins, pages, page_begins, lane = lanes[0], lanes[1], lanes[2], lanes[3], lanes[6][row]
    n, before = 0, 0
    for slot in range(first, past[lane] + row - begins[lane] + 1):
        if slot < past[lane] or sees(row, slot, lanes):
            page = pages[page_begins[lane] + slot // SLOTS]
            here = page_begins_at(page, heads, values, size) + value_begins_at(slot % SLOTS, size)
            if n % 2:
                join(flat, before, here, picked, (n - 1) * size, size)
            before, n = here, n + 1
    if n % 2:
        join(flat, before, before, picked, (n - 1) * size, size)
    return n


@inlined()
def join(flat, first, second, out, place, size):  # type: ignore[no-untyped-def]
    """A pair of values that begin at these places, to another; by slices, which the compiler makes vectors of."""
    target = out[place : place + 2 * size]
    if second == first + 1:
        both = flat[first : first + 2 * size]
        for k in range(2 * size):
            target[k] = both[k]
        return
    one, other = flat[first : first + 2 * size - 1], flat[second : second + 2 * size - 1]
    for k in range(size):
        target[2 * k] = one[2 * k]
        target[2 * k + 1] = other[2 * k]


@inlined(error_model="numpy")
def mix_own(shares, begin, group, at, n, picked, sums, line, gap):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    """As `mix`, of the n values that one row has picked, its shares from place `at` of a chunk on: they may reach into
    the next chunk, and beyond."""
    gone, size = 0, sums.shape[1]
    while gone < n:
        place = at + gone
        some = min(CHUNK - place % CHUNK, n - gone)
        into = line + place // CHUNK * gap
        mix(shares, begin, begin + group, place, some, picked, gone * size, gone * size, sums, into)
        gone += some
