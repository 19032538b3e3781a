"""The race among few tokens that are listed: the same winner as in a race over a whole row where all others weigh 0."""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.bits import larger, long_vectors, lowest_bit
from truedraw.sampling.kernels.clocks import clock, span_bounds
from truedraw.sampling.kernels.looking import SLACK, earlier
from truedraw.sampling.kernels.spans import COLUMNS, TILE, num_spans, span_of

TILE_BITS, COLUMNS_HERE = np.uint64(TILE.bit_length() - 1), np.uint64(COLUMNS)
LAST_COLUMN = np.uint64(COLUMNS - 1)


@inner(error_model="numpy")
def run_few(ids, weights, n, chance):  # type: ignore[no-untyped-def]
    """The place among rising ids [m] with weights [m], of n, of the winner of a race over the whole row; -1 where no
    weight is positive.

    What the best time so far rules out is found for COLUMNS of them at once, and looked at again one by one.
    """
    first = likeliest(weights) if ids.shape[0] > 0 else -1
    if first < 0 or not weights[first] > 0.0:
        return -1
    if ids.shape[0] == 1:
        return 0
    bounds = np.empty(num_spans(n))
    span_bounds(bounds, chance)
    best, winner = rings(ids, weights, first, bounds, (math.inf, -1), chance)
    for begin in range(0, ids.shape[0], COLUMNS):
        found = may_ring(ids, weights, begin, bounds, best * SLACK)
        while found != np.uint64(0):
            k = begin + np.int64(lowest_bit(found))
            found &= found - np.uint64(1)
            if bound_of(ids[k], bounds) < best * weights[k] * SLACK:
                best, winner = rings(ids, weights, k, bounds, (best, winner), chance)
    return winner


@inner(error_model="numpy")
def may_ring(ids, weights, begin, bounds, limit):  # type: ignore[no-untyped-def]
    """Which of COLUMNS ids, from one on, may ring before the limit, as the bits of a word."""
    long_vectors()
    found = np.uint64(0)
    if begin + COLUMNS > ids.shape[0]:
        for k in range(begin, ids.shape[0]):
            rings_early = bound_of(ids[k], bounds) < limit * weights[k]
            found |= np.uint64(1) << np.uint64(k - begin) if rings_early else np.uint64(0)
        return found
    for c in range(COLUMNS):  # a constant, or it does not become vector instructions
        here = np.uint64(begin + c)
        rings_early = bound_of(ids[here], bounds) < limit * weights[here]
        found |= np.uint64(1) << np.uint64(c) if rings_early else np.uint64(0)
    return found


@inner(error_model="numpy")
def bound_of(i, bounds):  # type: ignore[no-untyped-def]
    """Of the span of an index."""
    place = np.uint64(i)
    return bounds[(place >> TILE_BITS) * COLUMNS_HERE + (place & LAST_COLUMN)]


@inner(error_model="numpy")
def rings(ids, weights, k, bounds, leader, chance):  # type: ignore[no-untyped-def]
    """The leader (best time, winner) once id number k has rung."""
    best, winner = leader
    span, place = span_of(ids[k])
    time = clock(span, place, bounds[span], best * weights[k] * SLACK, chance)
    return earlier(best, winner, time / weights[k], k)


@inner(error_model="numpy")
def likeliest(weights):  # type: ignore[no-untyped-def]
    """The place of the largest of weights [m], m >= 1, the first of equals."""
    top, begin = top_from(weights, 0), 0
    for first in range(COLUMNS, weights.shape[0], COLUMNS):
        here = top_from(weights, first)
        if here > top:
            top, begin = here, first
    for k in range(begin, weights.shape[0]):
        if weights[k] == top:
            return k
    return 0


@inner(error_model="numpy")
def top_from(weights, begin):  # type: ignore[no-untyped-def]
    """The largest of COLUMNS weights, or of those that are left."""
    long_vectors()
    top = weights[begin]
    for k in range(begin, min(begin + COLUMNS, weights.shape[0])):
        top = larger(top, weights[np.uint64(k)])
    return top
