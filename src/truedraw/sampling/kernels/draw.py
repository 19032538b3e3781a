"""One token from each row of logits: bias, penalties, temperature, truncation, softmax and race, fused.

A row that is only tempered is read once, for the largest logit of every span; the race then looks at a few hundred of
its logits. top_k and min_p need the same pass and the tokens above a floor. Only top_p, and a row that was edited,
need every weight. The law is that of sampling/law.py in its default order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from truedraw.protocol import Floats, Ints
from truedraw.sampling.kernels.edges import BLOCK, BY_MASS, BY_NUMBER, EVERYTHING, edge, mass_from, select, tighter
from truedraw.sampling.kernels.exponential import weight
from truedraw.sampling.kernels.racing import run, run_few
from truedraw.sampling.kernels.rowkinds import Tempered
from truedraw.sampling.kernels.softmax import coldness_of, top_of, total_weight, weights_here, weights_into
from truedraw.sampling.kernels.spans import largest, maxima, num_spans

NOTHING = (-1, np.nan)  # the answer for a row without a law
NEAR = 2.0**-36  # relative: logits so near to a floor may have the same weight as what lies above it


class Transform(NamedTuple):
    """What is done to logits, named and applied as in SamplingParams; 0 tokens, mass 1 and ratio 0 switch off."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0


class Edits(NamedTuple):
    """Changes of single logits, each token once a row: z = z + before; z / factor if z > 0 else z factor; z + after."""

    ids: Ints  # [edits]
    before: Floats  # [edits]
    factor: Floats  # [edits]
    after: Floats  # [edits]


class Scratch(NamedTuple):
    """Memory that one thread uses again and again, since fresh memory costs page faults."""

    row: Floats  # [vocab]
    weights: Floats  # [vocab]
    ids: Ints  # [vocab]


@numba.njit(error_model="numpy")
def draw_row(logits, how, edits, chance, scratch):  # type: ignore[no-untyped-def]
    """(token, log of its probability under the transformed law) of logits [n]; NOTHING where there is no law.

    chance = (counter [4], key [2], whether the logarithm is wanted; else it may be NaN).
    """
    n, row, listed = logits.shape[0], scratch.row, -1
    if edits.ids.shape[0] > 0:
        edit(logits, edits, row)
        top = top_of(row)
        if not np.isfinite(top):
            return NOTHING
        if how.temperature == 0.0:
            return first_equal(row, top), 0.0
        total = weights_here(row, top, coldness_of(how.temperature))
    else:
        tops = np.empty(num_spans(n), dtype=logits.dtype)
        nan = maxima(logits, n, -np.inf, tops)
        top = np.float64(largest(tops))
        if nan or not np.isfinite(top):
            return NOTHING
        if how.temperature == 0.0:
            return first_equal(logits, top), 0.0
        tempered = Tempered(logits, top, coldness_of(how.temperature))
        if not is_cut(how, n):
            return draw_tempered(tempered, tops, chance)
        floor, total = floor_of(tops, top, how, n), 0.0
        if floor > -np.inf:
            listed = list_above(tempered, floor, scratch)
        else:
            total = weights_into(logits, top, tempered.coldness, row)
    return draw_cut(listed, how, chance, scratch, n) if is_cut(how, n) else draw_weighted(row, total, chance)


@numba.njit(error_model="numpy")
def edit(logits, edits, out):  # type: ignore[no-untyped-def]
    """out [n]: the edited logits."""
    for i in range(logits.shape[0]):
        out[i] = logits[i]
    for k in range(edits.ids.shape[0]):
        z = out[edits.ids[k]] + edits.before[k]
        out[edits.ids[k]] = (z / edits.factor[k] if z > 0.0 else z * edits.factor[k]) + edits.after[k]


@numba.njit(error_model="numpy")
def draw_tempered(row, tops, chance):  # type: ignore[no-untyped-def]
    """Of a Tempered row that nothing is cut from."""
    counter, key, wanted = chance
    token = run(row, row.logits.shape[0], tops, counter, key)
    total = total_weight(row.logits, row.top, row.coldness) if wanted else np.nan
    return token, (np.float64(row.logits[token]) - row.top) * row.coldness - math.log(total)


@numba.njit(error_model="numpy")
def draw_weighted(weights, total, chance):  # type: ignore[no-untyped-def]
    """Of weights that nothing is cut from."""
    counter, key, _ = chance
    tops = np.empty(num_spans(weights.shape[0]))
    maxima(weights, weights.shape[0], 0.0, tops)
    token = run(weights, weights.shape[0], tops, counter, key)
    return token, math.log(weights[token] / total)


@numba.njit(error_model="numpy")
def draw_cut(listed, how, chance, scratch, n):  # type: ignore[no-untyped-def]
    """After the truncations, of the tokens listed in scratch, or of scratch.row where `listed` is negative.

    The largest weight is 1.
    """
    counter, key, _ = chance
    weights = scratch.row if listed < 0 else scratch.weights[:listed]
    few = keep_few(weights, listed, cut_of(weights, how, n), scratch)
    ids, kept = scratch.ids[:few], scratch.weights[:few]
    k = run_few(ids, kept, n, counter, key)
    return ids[k], math.log(kept[k] / kept.sum())


@numba.njit(error_model="numpy")
def is_cut(how, n):  # type: ignore[no-untyped-def]
    """Whether a truncation is on."""
    return 0 < how.top_k < n or how.top_p < 1.0 or how.min_p > 0.0


@numba.njit(error_model="numpy")
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


@numba.njit(error_model="numpy")
def floor_of(tops, top, how, n):  # type: ignore[no-untyped-def]
    """A logit below which nothing is kept, -inf if not known: k spans' maxima are k tokens."""
    coldness, floor = coldness_of(how.temperature), -np.inf
    if 0 < how.top_k < n and how.top_k <= tops.shape[0]:
        few = tops.astype(np.float64)
        floor = select(few, few.shape[0], np.float64(how.top_k), 0.0, BY_NUMBER)[0]
    elif how.top_p == 1.0 and how.top_k <= 0:
        floor = top + math.log(how.min_p) / coldness
    return floor - NEAR * (1.0 / coldness + abs(floor) + abs(top))


@numba.njit(error_model="numpy")
def list_above(row, floor, scratch):  # type: ignore[no-untyped-def]
    """scratch.ids, scratch.weights [m]: the m tokens of a Tempered row whose logit is at least the floor."""
    logits, count = row.logits, 0
    for first in range(0, logits.shape[0], BLOCK):
        block = logits[first : first + BLOCK]
        hits = 0
        for i in range(block.shape[0]):
            hits += block[i] >= floor
        if hits:
            for i in range(block.shape[0]):
                if block[i] >= floor:
                    scratch.ids[count] = first + i
                    scratch.weights[count] = weight(block[i], row.top, row.coldness)
                    count += 1
    return count


@numba.njit(error_model="numpy")
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


@numba.njit(error_model="numpy")
def first_equal(values, value):  # type: ignore[no-untyped-def]
    """The first index of a value that is there."""
    for first in range(0, values.shape[0], BLOCK):
        block = values[first : first + BLOCK]
        hits = 0
        for i in range(block.shape[0]):
            hits += block[i] == value
        for i in range(block.shape[0] if hits else 0):
            if block[i] == value:
                return first + i
    return -1
