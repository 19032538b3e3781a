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

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.bits import FETCHED
from truedraw.sampling.kernels.rowkinds import fetch
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
FETCHED_A_TILE = 160  # values: what the memory brings while the noise of a tile is made
PAIRS = 8  # of arrivals made at once: they fill the processor's vectors


@inner(error_model="numpy")
def chance_of(counter, key):  # type: ignore[no-untyped-def]
    """The name of a draw as five numbers, since compiled code would count references to arrays at every call."""
    return counter[1], counter[2], counter[3], key[0], key[1]


@inner(error_model="numpy")
def span_bounds(out, chance):  # type: ignore[no-untyped-def]
    """out [spans]: a lower bound of every span's first arrival: the coarse part of its t, divided by SPAN."""
    for tile in range(out.shape[0] // COLUMNS):
        tile_bounds(tile, out, chance)


@inner(error_model="numpy")
def span_bounds_before(row, out, chance):  # type: ignore[no-untyped-def]
    """The same just before the row is read: its beginning is brought near meanwhile, since the memory is free."""
    for tile in range(out.shape[0] // COLUMNS):
        for ahead in range(0, FETCHED_A_TILE, FETCHED):
            fetch(row, tile * FETCHED_A_TILE + ahead)
        tile_bounds(tile, out, chance)


@inner(error_model="numpy")
def tile_bounds(tile, out, chance):  # type: ignore[no-untyped-def]
    """Of a tile's spans. The array is not cut into tiles: each cut would be counted as a reference to it."""
    b, c, d, k0, k1 = chance
    unit = WORD / SPAN
    for k in range(SPAN_BLOCKS):
        w0, w1, w2, w3 = philox(np.uint64(tile * SPAN_BLOCKS + k), b, c, d, k0, k1)
        at = np.uint64(tile * COLUMNS + k)
        out[at] = np.float64(w0) * unit
        out[at + np.uint64(SPAN_BLOCKS)] = np.float64(w1) * unit
        out[at + np.uint64(2 * SPAN_BLOCKS)] = np.float64(w2) * unit
        out[at + np.uint64(3 * SPAN_BLOCKS)] = np.float64(w3) * unit


@inner(error_model="numpy")
def arrivals(span, pair, chance):  # type: ignore[no-untyped-def]
    """(coarse, fine, coarse, fine) of two arrivals, the first pair's first coarse word being another's."""
    b, c, d, k0, k1 = chance
    return philox(np.uint64(span | pair << SPAN_BITS), b, c, d | LATER, k0, k1)


@inner(error_model="numpy")
def arrivals_into(span, pair, bound, chance, out):  # type: ignore[no-untyped-def]
    """out = (lows, fines) [2 PAIRS]: PAIRS pairs of arrivals, first all first ones; `bound` is that of pair 0."""
    lows, fines = out
    unit, pairs = WORD / SPAN, lows.shape[0] >> 1  # not the constant: so short a loop would be unrolled, not vectorised
    for j in range(pairs):
        coarse, fine, coarse_too, fine_too = arrivals(span, pair + j, chance)
        lows[j], fines[j] = np.float64(coarse) * unit, fine
        lows[pairs + j], fines[pairs + j] = np.float64(coarse_too) * unit, fine_too
    if pair == 0:
        lows[0] = bound


@inner(error_model="numpy")
def gap_above(low):  # type: ignore[no-untyped-def]
    """A better lower bound of the time between two arrivals: -log(1 - t) >= t + t**2 / 2 + t**3 / 3."""
    t = low * SPAN
    return low * (1.0 + t * (1 / 2 + t * (1 / 3)))


@inner(error_model="numpy")
def gap(low, fine):  # type: ignore[no-untyped-def]
    """The time between two arrivals, at least `low`, its lower bound from the coarse word."""
    t = low * SPAN + (np.float64(fine >> PLACE_BITS) + HALF) * FINE_UNIT
    return -math.log1p(-t) / SPAN


@inner(error_model="numpy")
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
