"""The race itself: argmin E_i / w_i over a row.

The first time to ring is Exp(1) / sum(w), so a limit is set at about 2 / sum(w), and only what can ring before it is
looked at; where nothing does, the limit is raised. A span can matter only where the bound of its first arrival,
divided by the span's largest weight, is below the limit. This test, and the one for an arrival and the weight at its
place, is made with logarithms to base 2, rounded to the safe side. All together about as many arrivals are looked at
as a span has places, whatever the row. The winner is the index of the smallest E_i / w_i in float64, the lower one of
equals, in whatever order indices are visited: it does not depend on any limit.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from truedraw.sampling.kernels.clocks import ARRIVALS, PLACE_MASK, WORD, arrivals, chance_of, clock, gap, span_bounds
from truedraw.sampling.kernels.rowkinds import SAG, log2_above, log2_below, power_above, value_at, weight_of
from truedraw.sampling.kernels.spans import COLUMNS, SPAN, any_below, index, num_spans, span_of

SLACK = 1 + 2.0**-40  # of a time: rounding never hides an index
LOG_SLACK = SAG + 2.0**-20  # of the logarithm of a time, when its curve is a line
LIMIT = 2.0  # of the first limit, in mean times of the first to ring, so that one in seven fails
SHORTEST = 2.0**-1022  # of the first limit: one of 0 could not be raised
RAISE = 4.0  # of a limit that nothing rang before


@numba.njit(error_model="numpy")
def run(row, n, tops, counter, key):  # type: ignore[no-untyped-def]
    """The winner among n indices, -1 where no weight is positive; tops [spans] are the spans' largest values."""
    chance = chance_of(counter, key)
    bounds, times, near = np.empty(tops.shape[0]), np.empty(tops.shape[0]), np.empty(tops.shape[0], np.int64)
    span_bounds(bounds, chance)
    limit, winner = max(LIMIT / times_into(row, tops, bounds, times), SHORTEST), -1
    while winner < 0:
        count = spans_below(times, log2_below(limit) + LOG_SLACK, near)
        winner = sweep(row, n, (tops, bounds), near[:count], limit, chance)
        if limit == math.inf:
            break
        limit *= RAISE
    return winner


@numba.njit(error_model="numpy", fastmath={"reassoc"})
def times_into(row, tops, bounds, times):  # type: ignore[no-untyped-def]
    """times [spans]: log2 of a lower bound of each span's best time; returns about the sum of the spans' weights."""
    total = 0.0
    for span in range(times.shape[0]):
        height = log2_above(row, tops[span])
        times[span] = log2_below(bounds[span]) - height
        total += power_above(height)
    return total


@numba.njit(error_model="numpy")
def spans_below(times, reach, out):  # type: ignore[no-untyped-def]
    """out [m]: the m spans whose time is below `reach`. No branch but one a tile."""
    count = np.uint64(0)
    for first in range(0, times.shape[0], COLUMNS):
        part = times[first : first + COLUMNS]
        if any_below(part, reach):
            for c in range(COLUMNS):
                out[count] = first + c
                count += np.uint64(part[c] < reach)
    return np.int64(count)


@numba.njit(error_model="numpy")
def sweep(row, n, spans, near, limit, chance):  # type: ignore[no-untyped-def]
    """The winner among what rings before the limit in the spans `near` [m], -1 if nothing does.

    First come those whose first arrival may ring before it; then the best time is mostly found, and what is left is
    whether a second arrival can be earlier. Both questions are asked of all spans at once, since the noise then fills
    vectors and the processor reads many weights at a time.
    """
    tops, bounds = spans
    rings, later = soon(row, n, spans, near, chance)
    best, winner = limit, -1
    for k in range(near.shape[0]):
        if rings[k] < best * SLACK:
            span = near[k]
            best, winner = look_into(row, n, span, (best, winner, tops[span], bounds[span]), chance)
            later[k] = math.inf
    for k in range(near.shape[0]):
        if later[k] < best * SLACK:
            span = near[k]
            best, winner = look_into(row, n, span, (best, winner, tops[span], bounds[span]), chance)
    return winner


@numba.njit(error_model="numpy")
def soon(row, n, spans, near, chance):  # type: ignore[no-untyped-def]
    """Lower bounds [m] of the time of each span's first arrival, and of all later ones together."""
    tops, bounds = spans
    m = near.shape[0]
    rings, later, places = np.empty(m), np.empty(m), np.empty(m, np.int64)
    for k in range(m):
        _, fine, coarse, _ = arrivals(near[k], 0, chance)
        places[k], later[k] = np.int64(fine & PLACE_MASK), np.float64(coarse) * (WORD / SPAN)
    for k in range(m):
        i, bound = index(near[k], places[k]), bounds[near[k]]
        value = value_at(row, min(i, n - 1))
        rings[k] = bound / power_above(log2_above(row, value)) if i < n else math.inf
        later[k] = (bound + later[k]) / power_above(log2_above(row, tops[near[k]]))
    return rings, later


@numba.njit(error_model="numpy")
def look_into(row, n, span, leader, chance):  # type: ignore[no-untyped-def]
    """(best time, winner) once a span has run; leader = (best time, winner, the span's largest value, its bound)."""
    best, winner, top, low = leader
    cover = power_above(log2_above(row, top)) * SLACK
    if best == math.inf and not weight_of(row, top) > 0.0:
        return best, winner
    time, coarse, fine = 0.0, np.uint64(0), np.uint64(0)
    for k in range(ARRIVALS):
        if k & 1 == 0:
            before, now, coarse, fine = arrivals(span, k >> 1, chance)
        else:
            before, now = coarse, fine
        if k > 0:
            low = np.float64(before) * (WORD / SPAN)
        if not time + low < best * cover:
            break
        time += gap(low, now)
        i = index(span, np.int64(now & PLACE_MASK))
        if i < n:
            value = value_at(row, i)
            if time < best * power_above(log2_above(row, value)) * SLACK:
                w = weight_of(row, value)
                if w > 0.0 and time < best * w * SLACK:
                    best, winner = earlier(best, winner, time / w, i)
    return best, winner


@numba.njit(error_model="numpy")
def earlier(best, winner, time, i):  # type: ignore[no-untyped-def]
    """The leader once i has rung at `time`."""
    if time < best or (time == best and i < winner) or winner < 0:
        return time, i
    return best, winner


@numba.njit(error_model="numpy")
def run_few(ids, weights, n, counter, key):  # type: ignore[no-untyped-def]
    """The place among rising ids [m] with weights [m] > 0, m >= 1, of n, of the winner of a race over the whole row."""
    if ids.shape[0] == 1:
        return 0
    chance = chance_of(counter, key)
    bounds = np.empty(num_spans(n))
    span_bounds(bounds, chance)
    best, winner = math.inf, -1
    likeliest = weights.argmax()
    for k in range(-1, ids.shape[0]):
        j = likeliest if k < 0 else k
        span, place = span_of(ids[j])
        limit = best * weights[j] * SLACK
        if bounds[span] < limit:
            best, winner = earlier(best, winner, clock(span, place, bounds[span], limit, chance) / weights[j], j)
    return winner
