"""One row's attention to its text: rotary positions, the cache, and the sums over what the row sees.

A row sees the slots of its text before the pass and those rows of its lane that stand before it, or of a tree its
ancestors. They are gone through in the order of the text, so that a row's sums are the same whether it comes alone, in
a chain or as a node of a tree among strangers, and whatever pages its text lies in.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner
from truedraw.engine.native.heads import COLUMNS, MOST_HEADS, SLOTS, compare_page, mix_columns
from truedraw.engine.native.machine import halved
from truedraw.engine.native.products import FREE
from truedraw.engine.native.softly import exp

compare_one, compare_two, compare_three, compare_four = (compare_page(heads) for heads in range(1, MOST_HEADS + 1))
mix_one, mix_three, mix_four = (mix_columns(heads, COLUMNS[0]) for heads in (1, 3, MOST_HEADS))
mix_narrow = mix_columns(1, COLUMNS[1])


@inner(fastmath=FREE, error_model="numpy")
def turn(head, gain, epsilon, cos, sin):  # type: ignore[no-untyped-def]
    """A query or key [head_dim], in place: normed by a gain where that has numbers, and rotated, halves paired."""
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


@inner(error_model="numpy")
def keep(numbers, slots, slot, turned):  # type: ignore[no-untyped-def]
    """A key or value [head_dim] into its slot, as float16; too large ones make logits that are no numbers.

    slots [slots, head_dim]; turned: [head_dim, slots].
    """
    for k in range(len(numbers)):
        bits = halved(numbers[k])
        if turned:
            slots[k, slot] = bits
        else:
            slots[slot, k] = bits


@inner()
def compare(queries, keys, head, pages, scores):  # type: ignore[no-untyped-def]
    """scores [group, slots] of queries [group, head_dim] that share keys, over the pages of a text.

    keys [pages, kv heads, head_dim, SLOTS]: slots stand side by side, as many are compared at once.
    """
    group, size = queries.shape
    lines, flat, out, gap = queries.reshape(-1), keys.reshape(-1), scores.reshape(-1), scores.shape[1]
    for number in range(len(pages)):
        key = (pages[number] * keys.shape[1] + head) * size * SLOTS
        for g in range(0, group, MOST_HEADS):
            first, at = g * size, g * gap + number * SLOTS
            if group - g >= 4:
                compare_four(lines, first, size, flat, key, out, at, gap)
            elif group - g == 3:
                compare_three(lines, first, size, flat, key, out, at, gap)
            elif group - g == 2:
                compare_two(lines, first, size, flat, key, out, at, gap)
            else:
                compare_one(lines, first, size, flat, key, out, at, gap)


@inner()
def mix(scores, values, places, out):  # type: ignore[no-untyped-def]
    """out [group, head_dim]: the values at `places` [n] of a cache, by softmax of scores [group, n or more].

    A place is that of the first number in the cache, flat; its numbers stand one behind the other.
    """
    group, size = out.shape
    for g in range(group):
        softened(scores[g], len(places))
    shares, flat, target = scores.reshape(-1), values.reshape(-1), out.reshape(-1)
    for g in range(0, group, MOST_HEADS):
        heads, column = min(MOST_HEADS, group - g), 0
        while column < size:
            wide = size - column >= COLUMNS[0]
            mix_some(heads, wide, shares, g, scores.shape[1], flat, places, column, target, size)
            column += COLUMNS[0] if wide else COLUMNS[1]


@inner()
def mix_some(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917 - what the machine is told
    heads, wide, shares, g, line, flat, places, column, out, size
):
    """Some columns of some heads, from head number g on."""
    n, at = len(places), g * size + column
    if wide and heads == 4:
        mix_four(shares, g * line, line, flat, places, column, n, out, at, size)
    elif wide and heads == 3:
        mix_three(shares, g * line, line, flat, places, column, n, out, at, size)
    elif wide:
        for each in range(heads):
            mix_one(shares, (g + each) * line, line, flat, places, column, n, out, at + each * size, size)
    else:
        for each in range(heads):
            mix_narrow(shares, (g + each) * line, line, flat, places, column, n, out, at + each * size, size)


@inner(fastmath=FREE, error_model="numpy")
def softened(scores, n):  # type: ignore[no-untyped-def]
    """softmax of the first n scores, in place."""
    top = scores[0]
    for at in range(1, n):
        top = max(top, scores[at])
    total = np.float32(0)
    for at in range(n):
        scores[at] = exp(scores[at] - top)
        total += scores[at]
    for at in range(n):
        scores[at] = scores[at] / total
