"""Sorting suffixes by their first DEPTH tokens: runs in memory, then merges of runs that are mapped.

A run is sorted by prefix doubling (Manber and Myers 1990): the rank by 2k tokens follows from two ranks by k tokens, so
six sorts of numbers give the order by 64 tokens, whatever the text repeats. What is equal in DEPTH tokens, or up to the
end of its text, may stand in any order.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.draft.index.layout import DEPTH, END, Words
from truedraw.protocol import Ints

BYTES_PER_SORTED_TOKEN = 56  # four arrays of int64 at once, and what numpy needs between them
HALF_WORD = np.uint64(32)


def sorted_places(tokens: Words, count: int) -> Words:
    """Places of the suffixes that begin among the first `count` tokens, in order.

    tokens: at least DEPTH more than `count`, or up to the end of all texts.
    """
    rank = tokens.astype(np.int64) - END  # END is 0
    span = 1
    while True:
        order, rank = _doubled(rank, span)
        span *= 2
        if span >= DEPTH or int(rank.max(initial=0)) == len(rank) - 1:
            break
    begins = order[order < count]
    places: Words = begins[tokens[begins] != END].astype(np.int32)
    return places


def _doubled(rank: Ints, span: int) -> tuple[Ints, Ints]:
    """(places in order, rank of each place) by twice as many tokens; what lies behind the end is smallest."""
    above = (rank + 1).astype(np.uint64)  # the largest token id, one more, and half a word further still fit
    key = above << HALF_WORD
    key[:-span] |= above[span:]
    order = np.argsort(key)
    ordered = key[order]
    steps = np.zeros(len(key), np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=steps[1:])
    better = np.empty_like(steps)
    better[order] = steps
    return order, better


@compiled(error_model="numpy")
def merge(tokens, first, second, shift, out):  # type: ignore[no-untyped-def]
    """Two sorted lists of places into one; `shift` is added to the places of the second list, all of them later."""
    i, j = 0, 0
    for k in range(out.shape[0]):
        if j == second.shape[0] or (i < first.shape[0] and not comes_before(tokens, second[j] + shift, first[i])):
            out[k] = first[i]
            i += 1
        else:
            out[k] = second[j] + shift
            j += 1


@inner(error_model="numpy")
def comes_before(tokens, one, other):  # type: ignore[no-untyped-def]
    """Whether the suffix at `one` sorts before that at `other`; the tokens end with END, so both end inside."""
    for depth in range(DEPTH):
        a, b = tokens[one + depth], tokens[other + depth]
        if a != b:
            return a < b
        if a == END:
            return False
    return False
