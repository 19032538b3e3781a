"""What followed the longest known suffix of a text, by binary search in sorted suffixes.

Suffixes that begin with the same string are neighbours: a span [first, last) of each segment. One token more narrows a
span by two binary searches, and what followed a string stands in its span in order, so a token's count is the length of
its own span. A token with the share x of a span is met twice by looking at every x/2-th part of it, so the likely ones
are found without counting all.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.draft.index.layout import DEPTH, END
from truedraw.draft.suffix_nodes import NONE
from truedraw.draft.suffix_reading import insert

TOKENS, SUFFIXES, NUM_TOKENS, NUM_SUFFIXES = 0, 1, 2, 3
"""Columns of the table of segments: words where the two parts begin, and how long they are."""
RAREST = 1 / 64  # share of what followed below which a token may be overlooked; bounds the looks at a span


@inner(error_model="numpy")
def token_at(words, segment, rank, depth):  # type: ignore[no-untyped-def]
    """Of the suffix of a rank, the token `depth` behind its first; END where a damaged file leads outside."""
    place = np.int64(words[segment[SUFFIXES] + rank]) + depth
    return words[segment[TOKENS] + place] if 0 <= place < segment[NUM_TOKENS] else np.int32(END)


@inner(error_model="numpy")
def first_from(words, segment, span, depth, token):  # type: ignore[no-untyped-def]
    """The first rank of a span whose token at `depth` is `token` or greater."""
    low, high = span
    while low < high:
        middle = (low + high) // 2
        if token_at(words, segment, middle, depth) < token:
            low = middle + 1
        else:
            high = middle
    return low


@inner(error_model="numpy")
def narrowed(words, segment, span, depth, token):  # type: ignore[no-untyped-def]
    """The part of a span whose token at `depth` is `token`."""
    low = first_from(words, segment, span, depth, token)
    return low, first_from(words, segment, (low, span[1]), depth, token + 1)


@inner(error_model="numpy")
def followed(words, segment, tail, length):  # type: ignore[no-untyped-def]
    """The span of the last `length` tokens of `tail`, without what ends there."""
    span = np.int64(0), segment[NUM_SUFFIXES]
    for depth in range(length):
        span = narrowed(words, segment, span, depth, tail[tail.shape[0] - length + depth])
        if span[0] == span[1]:
            return span
    return first_from(words, segment, span, length, 0), span[1]


@compiled(error_model="numpy")
def longest(words, segments, tail, most, place):  # type: ignore[no-untyped-def]
    """Tokens of the longest suffix of `tail`, at most `most`, that something followed; its spans go to `place`.

    place = [length, first and last of each segment]. If a suffix is known, so are the shorter ones: bisection.
    """
    place[:] = 0
    for number in range(segments.shape[0]):
        low, high = place[0], np.int64(most) + 1  # `low` is known to some segment, `high` to none
        wanted = max(low, np.int64(1))
        while wanted < high:
            first, last = followed(words, segments[number], tail, wanted)
            if first < last:
                low = wanted
                if low > place[0]:
                    place[:] = 0
                place[0], place[1 + 2 * number], place[2 + 2 * number] = low, first, last
            else:
                high = wanted
            wanted = (low + high) // 2 if high - low > 1 else high
    return place[0]


@compiled(error_model="numpy")
def draft(words, segments, place, rules, board):  # type: ignore[no-untyped-def]
    """Fill the board as suffix_reading.draft does; how many nodes. rules = (floor, is_tree).

    The places of the board are rows like `place`: tokens of the string, and its span in each segment.
    """
    _, _, chances, places = board
    size = offer(words, segments, board, (0, 0), (place, 1.0, NONE), rules)
    node = 0
    while node < size:
        above = (places[node].copy(), chances[node], node)
        node += 1
        size = offer(words, segments, board, (node, size), above, rules)
    return node


@inner(error_model="numpy")
def offer(words, segments, board, window, above, rules):  # type: ignore[no-untyped-def]
    """Enter what followed a node among the candidates board[first:size]; the new size.

    above = (place, chance, node) of the parent.
    """
    place, chance, node = above
    floor, is_tree = rules
    total = without_ends(words, segments, place)
    if total == 0 or window[0] == board[0].shape[0]:
        return window[1]
    least = max(floor / chance, RAREST)
    size, most = window[1], 0
    below, best = np.empty_like(place), np.empty_like(place)
    token_of_best = NONE
    for number in range(segments.shape[0]):
        rank, last = place[1 + 2 * number], place[2 + 2 * number]
        while rank < last:
            stride = np.int64(least * (last - place[1 + 2 * number]))
            token, rank = next_run(words, segments[number], (rank, last), place[0], stride)
            if rank == last:
                break
            count = occurrences(words, segments, place, token, below)
            rank = max(rank + 1, below[2 + 2 * number])
            if chance * count / total < floor:
                continue
            if not is_tree and count > most:
                most, token_of_best, least = count, token, max(least, count / total)
                best[:] = below
            elif is_tree and not is_offered(board, (window[0], size), token, node):
                size = insert(board, (window[0], size), (token, node, chance * count / total), below)
    if most > 0:
        size = insert(board, (window[0], size), (token_of_best, node, chance * most / total), best)
    return size


@inner(error_model="numpy")
def next_run(words, segment, span, depth, shortest):  # type: ignore[no-untyped-def]
    """(token, rank): the next token of a span that can stand there `shortest` times, and a rank where it does.

    Of so long a run two looks, half as far apart, meet the same token. The rank is the end of the span for none.
    """
    rank, last = span
    step = max(np.int64(1), shortest // 2)
    token = token_at(words, segment, rank, depth)
    if shortest < 2:
        return token, rank
    while rank + step < last:
        further = token_at(words, segment, rank + step, depth)
        if further == token:
            return token, rank
        rank, token = rank + step, further
    return token, last


@inner(error_model="numpy")
def without_ends(words, segments, place):  # type: ignore[no-untyped-def]
    """How often something followed a string; takes the ends of texts out of its spans. 0 where none is sorted."""
    total = 0
    if place[0] >= DEPTH:
        return total
    for number in range(segments.shape[0]):
        span = place[1 + 2 * number], place[2 + 2 * number]
        place[1 + 2 * number] = first_from(words, segments[number], span, place[0], 0)
        total += span[1] - place[1 + 2 * number]
    return total


@inner(error_model="numpy")
def occurrences(words, segments, place, token, below):  # type: ignore[no-untyped-def]
    """How often a string was followed by `token`; `below` becomes the place of both."""
    below[0], count = place[0] + 1, 0
    for number in range(segments.shape[0]):
        span = place[1 + 2 * number], place[2 + 2 * number]
        span = narrowed(words, segments[number], span, place[0], token)
        below[1 + 2 * number], below[2 + 2 * number] = span
        count += span[1] - span[0]
    return count


@inner(error_model="numpy")
def is_offered(board, window, token, node):  # type: ignore[no-untyped-def]
    """Whether a token stands among the candidates already, from another segment."""
    for i in range(window[0], window[1]):  # noqa: SIM110 - any() does not compile
        if board[0][i] == token and board[1][i] == node:
            return True
    return False
