"""One span of a race, read arrival by arrival until they come too late to win."""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.clocks import ARRIVALS, PAIRS, PLACE_MASK, arrivals_into, gap, gap_above
from truedraw.sampling.kernels.rowkinds import log2_above, power_above, value_at, weight_of
from truedraw.sampling.kernels.spans import index

SLACK = 1 + 2.0**-40  # of a time: rounding never hides an index


@inner(error_model="numpy")
def look_into(row, n, span, leader, noise):  # type: ignore[no-untyped-def]
    """(best time, winner) once a span has run; leader = (best time, winner, the span's largest value, its bound).

    noise = (chance, memory of arrivals_into).
    """
    best, winner, top, bound = leader
    chance, some = noise
    cover = power_above(log2_above(row, top)) * SLACK
    if best == math.inf and not weight_of(row, top) > 0.0:
        return best, winner
    time = 0.0
    for pair in range(0, ARRIVALS >> 1, PAIRS):
        arrivals_into(span, pair, bound, chance, some)
        time, best, winner = read(row, n, span, (time, best, winner, cover), some)
        if not time < best * cover:
            break
    return best, winner


@inner(error_model="numpy")
def read(row, n, span, leader, some):  # type: ignore[no-untyped-def]
    """(time, best time, winner) after some arrivals, or from where they come too late.

    Times are added up from lower bounds, which cost no logarithm, and exactly where an arrival may win.
    """
    time, best, winner, cover = leader
    early, known = time, 0
    for k in range(2 * PAIRS):
        at = place_of(k)
        early += gap_above(some[0][at])
        if not early < best * cover:
            return early, best, winner
        i = index(span, np.int64(some[1][at] & PLACE_MASK))
        if i < n:
            value = value_at(row, i)
            if early < best * power_above(log2_above(row, value)) * SLACK:
                early = time = later(time, known, k + 1, some)
                known, w = k + 1, weight_of(row, value)
                if w > 0.0 and time < best * w * SLACK:
                    best, winner = earlier(best, winner, time / w, i)
    return later(time, known, 2 * PAIRS, some), best, winner


@inner(error_model="numpy")
def place_of(k):  # type: ignore[no-untyped-def]
    """Where arrival k stands in the memory of arrivals_into."""
    return np.uint64((k & 1) * PAIRS + (k >> 1))


@inner(error_model="numpy")
def later(time, start, stop, some):  # type: ignore[no-untyped-def]
    """The time of arrival stop - 1, given that before arrival `start`."""
    for k in range(start, stop):
        at = place_of(k)
        time += gap(some[0][at], some[1][at])
    return time


@inner(error_model="numpy")
def earlier(best, winner, time, i):  # type: ignore[no-untyped-def]
    """The leader once i has rung at `time`."""
    if time < best or (time == best and i < winner) or winner < 0:
        return time, i
    return best, winner
