"""The tokens that top_k, top_p and min_p leave of a row, listed, without sorting it and mostly without writing it down.

Where top_k is no more than there are spans, or min_p stands alone, the pass for the spans' largest logits tells a
floor, and only the tokens above it are looked at. All else needs every weight, top_p alone above all. The truncations
stand in the order top_k, top_p, min_p, each on what the ones before it left, as in sampling/law.py; weights need not be
normalised.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from truedraw.compiled import apart, inner
from truedraw.protocol import Floats, Ints
from truedraw.sampling.kernels.edges import BLOCK, BY_MASS, BY_NUMBER, EVERYTHING, edge, mass_from, select, tighter
from truedraw.sampling.kernels.rowkinds import value_at, weight_of
from truedraw.sampling.kernels.softmax import coldness_of, write_weights

NEAR = 2.0**-36  # relative: logits so near to a floor may have the same weight as what lies above it


class Scratch(NamedTuple):
    """Memory of one thread, since fresh memory costs page faults, and those that it shares work with."""

    row: Floats  # [vocab]
    weights: Floats  # [vocab]
    ids: Ints  # [vocab]
    board: Ints  # of a crew (threads/), of no words where there is none


@inner(error_model="numpy")
def is_cut(how, n):  # type: ignore[no-untyped-def]
    """Whether a truncation is on."""
    return 0 < how.top_k < n or how.top_p < 1.0 or how.min_p > 0.0


@apart(error_model="numpy")
def cut_logits(row, tops, how, scratch):  # type: ignore[no-untyped-def]
    """scratch.ids, scratch.weights [m]: what is left of a Tempered or Patched row; returns m."""
    n, listed = row.logits.shape[0], -1
    floor = floor_of(tops, row.top, how, n)
    if floor > -np.inf:
        listed = list_above(row, floor, scratch)
    else:
        write_weights(row, scratch.row)
    return cut_weights(listed, how, scratch, n)


@inner(error_model="numpy")
def cut_weights(listed, how, scratch, n):  # type: ignore[no-untyped-def]
    """As cut_logits, of the tokens listed or of scratch.row where `listed` is negative; the largest weight is 1."""
    weights = scratch.row if listed < 0 else scratch.weights[:listed]
    return keep_few(weights, listed, cut_of(weights, how, n), scratch)


@inner(error_model="numpy")
def cut_of(weights, how, n):  # type: ignore[no-untyped-def]
    """The edge of all truncations together, each on what the ones before it left."""
    cut = EVERYTHING
    if 0 < how.top_k < n:
        cut = edge(weights, np.float64(how.top_k), BY_NUMBER)
    if how.top_p < 1.0:
        value, ties = cut
        mass = mass_from(weights, np.nextafter(value, np.inf))[0] + value * ties
        cut = tighter(cut, edge(weights, how.top_p * mass, BY_MASS))
    return tighter(cut, (how.min_p, n)) if how.min_p > 0.0 else cut


@inner(error_model="numpy")
def floor_of(tops, top, how, n):  # type: ignore[no-untyped-def]
    """A logit below which nothing is kept, -inf if not known: k spans' maxima are k tokens."""
    coldness, floor = coldness_of(how.temperature), -np.inf
    if 0 < how.top_k < n and how.top_k <= tops.shape[0]:
        few = tops.astype(np.float64)
        floor = select(few, few.shape[0], np.float64(how.top_k), 0.0, BY_NUMBER)[0]
    elif how.top_p == 1.0 and how.top_k <= 0:
        floor = top + math.log(how.min_p) / coldness
    return floor - NEAR * (1.0 / coldness + abs(floor) + abs(top))


@inner(error_model="numpy")
def list_above(row, floor, scratch):  # type: ignore[no-untyped-def]
    """scratch.ids, scratch.weights [m]: the m tokens of such a row whose logit is at least the floor."""
    n, count = row.logits.shape[0], 0
    for first in range(0, n, BLOCK):
        hits, stop = 0, min(first + BLOCK, n)
        for i in range(first, stop):
            hits += value_at(row, i) >= floor
        for i in range(first, stop if hits else first):
            value = value_at(row, i)
            if value >= floor:
                scratch.ids[count], scratch.weights[count] = i, weight_of(row, value)
                count += 1
    return count


@inner(error_model="numpy")
def keep_few(weights, listed, cut, scratch):  # type: ignore[no-untyped-def]
    """scratch.ids, scratch.weights [m]: the m tokens that an edge keeps, in place where they are listed."""
    value, ties = cut
    count, left = 0, ties if value > 0.0 else 0
    for first in range(0, weights.shape[0], BLOCK):
        block = weights[first : first + BLOCK]
        hits = 0
        for i in range(block.shape[0]):
            hits += block[i] >= value
        if hits:
            for i in range(block.shape[0]):
                if block[i] > value or (block[i] == value and left > 0):
                    left -= block[i] == value
                    scratch.ids[count] = scratch.ids[first + i] if listed >= 0 else first + i
                    scratch.weights[count] = block[i]
                    count += 1
    return count
