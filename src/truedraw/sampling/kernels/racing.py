"""The race itself: argmin E_i / w_i over a row.

A span can hold the winner only where the bound of its first clock, divided by the span's largest weight, is below the
best time so far. This test is made with logarithms to base 2, rounded to the safe side. The most promising span is
looked into first; then few others pass. The winner is the index of the smallest E_i / w_i in float64, the lower one of
equals, in whatever order indices are visited: it does not depend on any bound.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from truedraw.sampling.kernels.clocks import clock, delay_bounds, span_bounds, span_fine
from truedraw.sampling.kernels.rowkinds import log2_above, log2_below, value_at, weight_of
from truedraw.sampling.kernels.spans import COLUMNS, SPAN, any_below, index, num_spans, smallest, span_of

SLACK = 1 + 2.0**-40  # of a time: rounding never hides an index
LOG_SLACK = 2.0**-20  # of the logarithm of a time


@numba.njit(error_model="numpy")
def run(row, n, tops, counter, key):  # type: ignore[no-untyped-def]
    """The winner among n indices, -1 where no weight is positive; tops [spans] are the spans' largest values."""
    bounds = np.empty(tops.shape[0])
    span_bounds(bounds, counter, key)
    times = np.empty(tops.shape[0])  # log2 of a lower bound of each span's best time
    for span in range(times.shape[0]):
        times[span] = log2_below(bounds[span]) - log2_above(row, tops[span])
    delays = np.empty(SPAN)
    best, winner, limit = math.inf, -1, smallest(times) + LOG_SLACK
    for _ in range(2):  # first only the most promising
        for first in range(0, times.shape[0], COLUMNS):
            if any_below(times[first : first + COLUMNS], limit):
                for span in range(first, first + COLUMNS):
                    if times[span] < limit:
                        leader = (best, winner, weight_of(row, tops[span]), bounds[span])
                        best, winner = look_into(row, n, span, leader, (delays, counter, key))
                        times[span], limit = math.inf, math.log2(best) + LOG_SLACK
        limit = math.log2(best) + LOG_SLACK
    return winner


@numba.njit(error_model="numpy")
def look_into(row, n, span, leader, chance):  # type: ignore[no-untyped-def]
    """(best time, winner) once a span has run; leader = (best time, winner, the span's largest weight, its bound)."""
    best, winner, top, bound = leader
    delays, counter, key = chance
    delay_bounds(delays, span, counter, key)
    _, first = span_fine(span, counter, key)
    delays[first] = 0.0
    for k in range(SPAN):
        place = (first + k) % SPAN
        rings, i = bound + delays[place], index(span, place)
        if rings < best * top * SLACK and i < n:
            w = weight_of(row, value_at(row, i))
            if w > 0.0 and rings < best * w * SLACK:
                time = clock(i, bound, best * w * SLACK, counter, key) / w
                best, winner = earlier(best, winner, time, i)
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
    bounds = np.empty(num_spans(n))
    span_bounds(bounds, counter, key)
    best, winner = math.inf, -1
    likeliest = weights.argmax()
    for k in range(-1, ids.shape[0]):
        j = likeliest if k < 0 else k
        limit = best * weights[j] * SLACK
        bound = bounds[span_of(ids[j])[0]]
        if bound < limit:
            best, winner = earlier(best, winner, clock(ids[j], bound, limit, counter, key) / weights[j], j)
    return winner
