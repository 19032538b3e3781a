"""The race itself: argmin E_i / w_i over a row.

The first time to ring is Exp(1) / sum(w), so a limit is set at about 2 / sum(w), and only what can ring before it is
looked at; where nothing does, the limit is raised. A span can matter only where the bound of its first arrival,
divided by the span's largest weight, is below the limit. This test, and the one for an arrival and the weight at its
place, is made with logarithms to base 2, rounded to the safe side. All together about as many arrivals are looked at
as a span has places, whatever the row. The winner is the index of the smallest E_i / w_i in float64, the lower one of
equals, in whatever order indices are visited: it does not depend on any limit.

What reads arrays is inlined by force where that saves time: a call counts references to every array it is given.
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.bits import lowest_bit
from truedraw.sampling.kernels.clocks import (
    LATER,
    PAIRS,
    PLACE_MASK,
    WORD,
    gap_above,
    span_bounds_before,
)
from truedraw.sampling.kernels.exponential import weight
from truedraw.sampling.kernels.looking import SLACK, look_into
from truedraw.sampling.kernels.rowkinds import SAG, Excess, log2_above, log2_below, power_above, value_at
from truedraw.sampling.kernels.spans import COLUMNS, SPAN, below, index, largest, maxima, num_spans
from truedraw.sampling.philox import philox
from truedraw.threads.borrowing import alive, borrowed

LOG_SLACK = SAG + 2.0**-20  # of the logarithm of a time, when its curve is a line
LIMIT = 2.0  # of the first limit, in mean times of the first to ring, so that one in seven fails
SHORTEST = 2.0**-1022  # of the first limit: one of 0 could not be raised
RAISE = 4.0  # of a limit that nothing rang before
SMALLEST_EXCESS = 1e-300  # that can still be drawn from; below it only rounding is left


@inner(error_model="numpy")
def run(row, n, spans, chance):  # type: ignore[no-untyped-def]
    """The winner among n indices, -1 where no weight is positive; spans = (their largest values, their bounds)."""
    tops, bounds = spans
    memory = np.empty(tops.shape[0]), np.empty(tops.shape[0], np.int64)
    some = np.empty(2 * PAIRS), np.empty(2 * PAIRS, np.uint64)
    times, near, noise = borrowed(memory[0]), borrowed(memory[1]), (chance, (borrowed(some[0]), borrowed(some[1])))
    limit, winner = max(LIMIT / times_into(row, tops, bounds, times), SHORTEST), -1
    while winner < 0:
        count = spans_below(times, log2_below(limit) + LOG_SLACK, near)
        winner = sweep(row, n, spans, near[:count], limit, noise)
        if limit == math.inf:
            break
        limit *= RAISE
    alive((memory, some))
    return winner


@inner(error_model="numpy")
def race_all(row, n, chance):  # type: ignore[no-untyped-def]
    """The same of a row whose values are weights >= 0."""
    tops, bounds = np.empty(num_spans(n)), np.empty(num_spans(n))
    span_bounds_before(row, bounds, chance)
    maxima(row, n, 0.0, tops)
    return run(row, n, (tops, bounds), chance)


@inner(error_model="numpy")
def race_excess(p, q, chance):  # type: ignore[no-untyped-def]
    """The same of the weights (p - q)+, -1 where none is more than rounding."""
    n, row = p.shape[0], Excess(p, q, 1.0)
    tops, bounds = np.empty(num_spans(n)), np.empty(num_spans(n))
    span_bounds_before(row, bounds, chance)
    maxima(row, n, 0.0, tops)
    return run(row, n, (tops, bounds), chance) if largest(tops) > SMALLEST_EXCESS else -1


@inner(error_model="numpy")
def race_remainder(row, chance):  # type: ignore[no-untyped-def]
    """The same of a Remainder, long where little is left and very long where nothing is. Spans are known by what they
    would have without q."""
    n, logits = row.logits.shape[0], row.logits
    tops, bounds, largest_there = np.empty(num_spans(n)), np.empty(num_spans(n)), np.empty(num_spans(n), logits.dtype)
    span_bounds_before(logits, bounds, chance)
    maxima(logits, n, -np.inf, largest_there)
    for span in range(tops.shape[0]):
        tops[span] = row.share * (weight(largest_there[span], row.top, row.coldness) * row.unit)
    return run(row, n, (tops, bounds), chance)


@inner(error_model="numpy", fastmath={"reassoc"})
def times_into(row, tops, bounds, times):  # type: ignore[no-untyped-def]
    """times [spans]: log2 of a lower bound of each span's best time; returns about the sum of the spans' weights."""
    total = 0.0
    for span in range(times.shape[0]):
        height = log2_above(row, tops[span])
        times[span] = log2_below(bounds[span]) - height
        total += power_above(height)
    return total


@inner(error_model="numpy")
def spans_below(times, reach, out):  # type: ignore[no-untyped-def]
    """out [m]: the m spans whose time is below `reach`."""
    count = 0
    for first in range(0, times.shape[0], COLUMNS):
        found = below(times, first, reach)
        while found != np.uint64(0):
            out[np.uint64(count)] = first + np.int64(lowest_bit(found))
            found &= found - np.uint64(1)
            count += 1
    return count


@inner(error_model="numpy", forceinline=True)
def sweep(row, n, spans, near, limit, noise):  # type: ignore[no-untyped-def]
    """The winner among what rings before the limit in the spans `near` [m], -1 if nothing does.

    First come those whose first arrival may ring before it; then the best time is mostly found, and what is left is
    whether a second arrival can be earlier. Both questions are asked of all spans at once, since the noise then fills
    vectors and the processor reads many weights at a time.
    """
    tops, bounds = spans
    rings, later = soon(row, n, spans, near, noise[0])
    best, winner = limit, -1
    for k in range(near.shape[0]):
        if rings[k] < best * SLACK:
            span = near[k]
            best, winner = look_into(row, n, span, (best, winner, tops[span], bounds[span]), noise)
            later[k] = math.inf
    for k in range(near.shape[0]):
        if later[k] < best * SLACK:
            span = near[k]
            best, winner = look_into(row, n, span, (best, winner, tops[span], bounds[span]), noise)
    return winner


@inner(error_model="numpy", forceinline=True)
def soon(row, n, spans, near, chance):  # type: ignore[no-untyped-def]
    """Lower bounds [m] of the time of each span's first arrival, and of all later ones together."""
    places, rings, later = noise_of(near, chance)
    tops, bounds = spans
    heights = np.empty((2, near.shape[0]))
    for k in range(near.shape[0]):
        span = np.uint64(near[k])
        i = index(near[k], places[k])
        heights[0, k] = log2_above(row, value_at(row, i)) if i < n else -np.inf
        heights[1, k] = log2_above(row, tops[span])
        rings[k] = bounds[span]
    times_here(rings, later, heights[0], heights[1])
    return rings, later


@inner(error_model="numpy", forceinline=True)
def noise_of(near, chance):  # type: ignore[no-untyped-def]
    """The places [m] of the spans' first arrivals, memory [m], and the coarse part of the time to the second [m]."""
    m = near.shape[0]
    places, times = np.empty(m, np.int64), np.empty((2, m))
    later = times[1]
    b, c, d, k0, k1 = chance
    d |= LATER
    for k in range(m):
        _, fine, coarse, _ = philox(np.uint64(near[k]), b, c, d, k0, k1)  # arrivals(), which would not become vectors
        places[k], later[k] = np.int64(fine & PLACE_MASK), np.float64(coarse) * (WORD / SPAN)
    return places, times[0], later


@inner(error_model="numpy", forceinline=True)
def times_here(rings, later, here, most):  # type: ignore[no-untyped-def]
    """Gaps to times, in place: first arrivals at weights 2**here [m], second ones at most at 2**most [m]."""
    for k in range(rings.shape[0]):
        first = gap_above(rings[k])
        rings[k] = first / power_above(here[k])
        later[k] = (first + gap_above(later[k])) / power_above(most[k])
