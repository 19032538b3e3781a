"""The noise of a race: an exponential clock E_i ~ Exp(1) for every index i, named by a counter, computed when needed.

A span of 32 indices is one Poisson process of rate 32. Its arrivals come at rising times, each at a place of the span
that is uniform, and E_i is the time of the first one at the place of i. By thinning, the places' own arrivals are
independent processes of rate 1, so their first times are independent and Exp(1). What makes it quick: a span is read
only until its arrivals come too late to matter, mostly before the first one, and one number says so.

The time between arrivals is -log(1 - t) / 32 with t of 59 bits: one word of noise, coarse, and 27 bits of another,
fine, whose 5 other bits are the place. Since -log(1 - t) >= t, the coarse word alone is a lower bound.

Which words: arrivals 2 m and 2 m + 1 of span s are the words (coarse, fine, coarse, fine) of block s + 2**18 m with the
flag LATER in the last counter word; except that the coarse word of arrival 0 stands without the flag, in lane
(s mod 64) div 16 of block 16 (s div 64) + s mod 16, where those of all spans fill the processor's vectors.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from truedraw.sampling.kernels.spans import COLUMNS, SPAN
from truedraw.sampling.philox import philox

LANES = 4  # words of a block
SPAN_BLOCKS = COLUMNS // LANES  # for the first coarse words of a tile's spans
LATER = np.uint64(1 << 31)  # flag in the last counter word: arrivals
SPAN_BITS = 18  # of the first counter word: enough for a vocabulary of eight million
ARRIVALS = 1 << 15  # of a span at most; a place that has not rung by then, with chance exp(-1024), never does
PLACE_BITS = np.uint64(5)
PLACE_MASK = np.uint64(SPAN - 1)
WORD = 2.0**-32
FINE_UNIT = 2.0**-59  # of t
HALF = 0.5  # t sits in the middle of its cell, so it is never 0


@numba.njit(error_model="numpy")
def chance_of(counter, key):  # type: ignore[no-untyped-def]
    """The name of a draw as five numbers, since compiled code would count references to arrays at every call."""
    return counter[1], counter[2], counter[3], key[0], key[1]


@numba.njit(error_model="numpy")
def span_bounds(out, chance):  # type: ignore[no-untyped-def]
    """out [spans]: a lower bound of every span's first arrival: the coarse part of its t, divided by SPAN."""
    b, c, d, k0, k1 = chance
    unit = WORD / SPAN
    for tile in range(out.shape[0] // COLUMNS):
        bounds = out[tile * COLUMNS : tile * COLUMNS + COLUMNS]
        for k in range(SPAN_BLOCKS):
            w0, w1, w2, w3 = philox(np.uint64(tile * SPAN_BLOCKS + k), b, c, d, k0, k1)
            bounds[k] = np.float64(w0) * unit
            bounds[SPAN_BLOCKS + k] = np.float64(w1) * unit
            bounds[2 * SPAN_BLOCKS + k] = np.float64(w2) * unit
            bounds[3 * SPAN_BLOCKS + k] = np.float64(w3) * unit


@numba.njit(error_model="numpy")
def arrivals(span, pair, chance):  # type: ignore[no-untyped-def]
    """(coarse, fine, coarse, fine) of two arrivals, the first pair's first coarse word being another's."""
    b, c, d, k0, k1 = chance
    return philox(np.uint64(span | pair << SPAN_BITS), b, c, d | LATER, k0, k1)


@numba.njit(error_model="numpy")
def gap(low, fine):  # type: ignore[no-untyped-def]
    """The time between two arrivals, at least `low`, its lower bound from the coarse word."""
    t = low * SPAN + (np.float64(fine >> PLACE_BITS) + HALF) * FINE_UNIT
    return -math.log1p(-t) / SPAN


@numba.njit(error_model="numpy")
def clock(span, place, bound, limit, chance):  # type: ignore[no-untyped-def]
    """E of a place of a span, or inf where it is not below the limit; `bound` is the span's, from span_bounds."""
    time, low, unit = 0.0, bound, WORD / SPAN
    for pair in range(ARRIVALS >> 1):
        coarse, fine, coarse_too, fine_too = arrivals(span, pair, chance)
        if pair > 0:
            low = np.float64(coarse) * unit
        if not time + low < limit:
            break
        time += gap(low, fine)
        if np.int64(fine & PLACE_MASK) == place:
            return time
        low = np.float64(coarse_too) * unit
        if not time + low < limit:
            break
        time += gap(low, fine_too)
        if np.int64(fine_too & PLACE_MASK) == place:
            return time
    return math.inf
