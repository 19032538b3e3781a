"""Where a truncation cuts: the edge of the smallest set of largest weights that reaches a goal, without sorting a row.

The goal is a mass (top_p) or a number of tokens (top_k). A few passes over the row halve the interval that holds the
edge, in the order of the doubles' bits, until few weights are left in it; among those the edge is found by selection.
An edge is (value, ties): kept are the weights above the value and, of those equal to it, the first `ties`.
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import apart, compiled, inner
from truedraw.sampling.kernels.bits import bits, double
from truedraw.sampling.kernels.exponential import MANTISSA_BITS
from truedraw.sampling.kernels.lanes import summed
from truedraw.sampling.kernels.rowkinds import value_at
from truedraw.sampling.kernels.spans import largest, maxima, num_spans

FEW = 128  # weights that are selected from at once
PASSES = 20  # at most, for rows where many weights are nearly equal
STEP = 6 << MANTISSA_BITS  # six powers of two, the first steps down from the largest weight
BLOCK = 64  # weights tested together
EVERYTHING = (0.0, 0)
BY_MASS, BY_NUMBER = 0.0, 1.0  # the unit: what each weight counts for, 0 = its own mass
FROM = summed(lambda row, of: [row[0].where_from(of[0], each) for each in (1.0, row[0])], terms=2)
"""How many weights there are from a floor on, and their mass."""


@inner(error_model="numpy")
def edge(weights, goal, unit):  # type: ignore[no-untyped-def]
    """The edge among weights [n] >= 0 for a goal that they reach by mass or by number."""
    low, high = np.int64(0), bits(largest_weight(weights)) + 1  # in bits; the edge is in [low, high)
    reached, inside, beyond = 0.0, weights.shape[0], 0  # mass or number from high on; numbers in [low, high), from high
    for _ in range(PASSES):
        if inside <= FEW or high - low <= 1:
            break
        middle = (low + high) >> 1 if low > 0 else max(high - STEP, np.int64(1))
        mass, count = mass_from(weights, double(middle))
        have = np.float64(count) if unit > 0.0 else mass
        if have >= goal:
            low, inside = middle, count - beyond
        else:
            reached, inside, beyond, high = have, inside - (count - beyond), count, middle
    few = np.empty(inside)
    between(weights, double(low), double(high), few)
    return select(few, inside, goal, reached, unit)


@inner(error_model="numpy")
def largest_weight(weights):  # type: ignore[no-untyped-def]
    """The largest of weights [n] >= 0."""
    tops = np.empty(num_spans(weights.shape[0]))
    maxima(weights, weights.shape[0], 0.0, tops)
    return largest(tops)


@apart(error_model="numpy")
def mass_from(weights, floor):  # type: ignore[no-untyped-def]
    """(mass, number) of the weights from a floor on."""
    number, mass = FROM((weights,), (floor,), (), 0, weights.shape[0])
    return mass, np.int64(number)


@inner(error_model="numpy")
def between(weights, floor, ceiling, out):  # type: ignore[no-untyped-def]
    """out [m]: the m weights in [floor, ceiling), in their order."""
    count = 0
    for first in range(0, weights.shape[0], BLOCK):
        block = weights[first : first + BLOCK]
        hits = 0
        for i in range(block.shape[0]):
            hits += block[i] >= floor and block[i] < ceiling
        if hits:
            for i in range(block.shape[0]):
                if block[i] >= floor and block[i] < ceiling:
                    out[count] = block[i]
                    count += 1


@inner(error_model="numpy")
def select(few, size, goal, reached, unit):  # type: ignore[no-untyped-def]
    """The edge among the first `size` of `few`, which is used up; `reached` is what lies above them all."""
    while size > 0:
        pivot = few[size >> 1]
        above, equal, larger = 0.0, 0, 0
        for i in range(size):
            above += (unit if unit > 0.0 else few[i]) if few[i] > pivot else 0.0
            larger += few[i] > pivot
            equal += few[i] == pivot
        each = unit if unit > 0.0 else pivot
        upper = larger > 0 and reached + above >= goal
        if not upper and reached + above + equal * each >= goal:
            return pivot, ties_needed(goal, reached + above, each, equal)
        if not upper:
            reached += above + equal * each
        size = drop(few, size, pivot, upper)
    return EVERYTHING


@inner(error_model="numpy")
def ties_needed(goal, reached, each, equal):  # type: ignore[no-untyped-def]
    """The smallest number from 1 to `equal` of weights that lift `reached` to the goal."""
    guess = (goal - reached) / each if each > 0.0 else 1.0
    ties = max(1, min(equal, math.floor(guess)))
    while ties > 1 and reached + (ties - 1) * each >= goal:
        ties -= 1
    while ties < equal and reached + ties * each < goal:
        ties += 1
    return ties


@inner(error_model="numpy")
def drop(few, size, pivot, upper):  # type: ignore[no-untyped-def]
    """Leave only what is above the pivot (upper) or below it; returns how many those are."""
    count = 0
    for i in range(size):
        value = few[i]
        few[count] = value
        count += value > pivot if upper else value < pivot
    return count


@inner(error_model="numpy")
def tighter(a, b):  # type: ignore[no-untyped-def]
    """The edge that keeps less."""
    if a[0] != b[0]:
        return a if a[0] > b[0] else b
    return a if a[1] < b[1] else b


@inner(error_model="numpy")
def mask_into(weights, cut, out):  # type: ignore[no-untyped-def]
    """out [n]: whether a weight is positive and kept by the edge."""
    value, ties = cut
    for i in range(weights.shape[0]):
        out[i] = weights[i] > value
    if value > 0.0:
        i = 0
        while ties > 0 and i < weights.shape[0]:
            if weights[i] == value:
                out[i] = True
                ties -= 1
            i += 1


@compiled(nogil=True, error_model="numpy")
def top_k_mask(weights, k):  # type: ignore[no-untyped-def]
    """The k largest of the weights [n] >= 0 that are positive, as a mask [n]; of equals the first ones, k >= 1."""
    out = np.empty(weights.shape[0], dtype=np.bool_)
    mask_into(weights, edge(weights, np.float64(k), BY_NUMBER), out)
    return out


@compiled(nogil=True, error_model="numpy")
def top_p_mask(weights, mass):  # type: ignore[no-untyped-def]
    """The fewest largest of the weights [n] >= 0 whose sum reaches `mass`, as a mask [n]; of equals the first ones."""
    out = np.empty(weights.shape[0], dtype=np.bool_)
    mask_into(weights, edge(weights, mass, BY_MASS), out)
    return out


@inner(error_model="numpy")
def first_top(row):  # type: ignore[no-untyped-def]
    """The first index where a Tempered or Patched row has its largest logit."""
    n = row.logits.shape[0]
    for first in range(0, n, BLOCK):
        hits, stop = 0, min(first + BLOCK, n)
        for i in range(first, stop):
            hits += value_at(row, i) == row.top
        for i in range(first, stop if hits else first):
            if value_at(row, i) == row.top:
                return i
    return -1
