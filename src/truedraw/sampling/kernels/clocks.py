"""The noise of a race: an exponential clock E_i ~ Exp(1) for every index i, named by a counter, computed when needed.

The clocks of a span of 32 are made from their minimum: it is Exp(1) / 32, stands at a place that is uniform, and what
the others ring later than that is again Exp(1), since an exponential clock has no memory. So one number bounds the
clocks of a whole span from below, and the others need not exist until the bound is not enough.

An exponential variable is -log(1 - t), with t of 59 or 64 bits: one word of a counter block, coarse, and below it a
word of a second block, fine. Since -log(1 - t) >= t, the coarse word alone is a lower bound.

Which words: span s has its coarse word in lane (s mod 64) div 16 of block 16 (s div 64) + s mod 16; in the fine word,
27 bits belong to t and 5 to the place of the minimum. Place j of span s has lane j div 8 of block
2**31 + 8 s + j mod 8. So neighbours stand in one lane of neighbouring blocks, which fills the processor's vectors.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from truedraw.sampling.kernels.spans import COLUMNS, SPAN, span_of
from truedraw.sampling.philox import philox

LANES = 4  # words of a block
SPAN_BLOCKS = COLUMNS // LANES  # for the minima of a tile's spans
PLACE_BLOCKS = SPAN // LANES  # for the places of one span
COARSE = np.uint64(0)
FINE = np.uint64(1 << 31)  # flag in the last counter word: the low bits of t
PLACES = 1 << 31  # flag in the first counter word: clocks inside a span
PLACE_BITS = np.uint64(5)
PLACE_MASK = np.uint64(SPAN - 1)
WORD = 2.0**-32
FINE_UNIT = 2.0**-27  # of a span's fine word, whose 5 other bits are the place
HALF = 0.5  # t sits in the middle of its cell, so it is never 0


@numba.njit(error_model="numpy")
def word(block, lane, flag, counter, key):  # type: ignore[no-untyped-def]
    """One word of noise."""
    a, b, c, d = philox(np.uint64(block), counter[1], counter[2], counter[3] | flag, key[0], key[1])
    return a if lane == 0 else b if lane == 1 else c if lane == 2 else d


@numba.njit(error_model="numpy")
def exponential(t):  # type: ignore[no-untyped-def]
    """Of law Exp(1) where t is uniform on (0, 1); at least t."""
    return -math.log1p(-t)


@numba.njit(error_model="numpy")
def span_fine(span, counter, key):  # type: ignore[no-untyped-def]
    """(t's low bits, place) of a span's first clock."""
    block, lane = span // COLUMNS * SPAN_BLOCKS + span % SPAN_BLOCKS, span % COLUMNS // SPAN_BLOCKS
    fine = word(block, lane, FINE, counter, key)
    return np.float64(fine >> PLACE_BITS), np.int64(fine & PLACE_MASK)


@numba.njit(error_model="numpy")
def clock(i, bound, limit, counter, key):  # type: ignore[no-untyped-def]
    """E of index i, or inf where it is not below the limit; `bound` is its span's, from span_bounds."""
    if not bound < limit:
        return math.inf
    span, place = span_of(i)
    fine, first = span_fine(span, counter, key)
    later = 0.0
    if place != first:
        block, lane = PLACES + span * PLACE_BLOCKS + place % PLACE_BLOCKS, place // PLACE_BLOCKS
        coarse = np.float64(word(block, lane, COARSE, counter, key))
        if not bound + coarse * WORD < limit:
            return math.inf
        later = exponential((coarse + (np.float64(word(block, lane, FINE, counter, key)) + HALF) * WORD) * WORD)
    return exponential(bound * SPAN + (fine + HALF) * FINE_UNIT * WORD) / SPAN + later


@numba.njit(error_model="numpy")
def span_bounds(out, counter, key):  # type: ignore[no-untyped-def]
    """out [spans]: a lower bound of every span's first clock: the coarse part of its t, divided by SPAN."""
    b, c, d, k0, k1 = counter[1], counter[2], counter[3], key[0], key[1]
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
def delay_bounds(out, span, counter, key):  # type: ignore[no-untyped-def]
    """out [SPAN]: lower bounds of how much later than the span's first clock the one at each place rings."""
    b, c, d, k0, k1 = counter[1], counter[2], counter[3], key[0], key[1]
    for k in range(PLACE_BLOCKS):
        w0, w1, w2, w3 = philox(np.uint64(PLACES + span * PLACE_BLOCKS + k), b, c, d, k0, k1)
        out[k] = np.float64(w0) * WORD
        out[PLACE_BLOCKS + k] = np.float64(w1) * WORD
        out[2 * PLACE_BLOCKS + k] = np.float64(w2) * WORD
        out[3 * PLACE_BLOCKS + k] = np.float64(w3) * WORD
