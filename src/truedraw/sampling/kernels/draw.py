"""One token from each row of logits: bias, penalties, temperature, truncation, softmax and race, fused.

A row that is only tempered is read once, for the largest logit of every span; the race then looks at a few dozen of
its logits. The law is that of sampling/law.py in its default order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from truedraw.protocol import Floats, Ints
from truedraw.sampling.kernels.cutting import cut_logits, cut_weights, is_cut
from truedraw.sampling.kernels.edges import BLOCK
from truedraw.sampling.kernels.racing import run, run_few
from truedraw.sampling.kernels.rowkinds import Tempered
from truedraw.sampling.kernels.softmax import (
    coldness_of,
    scale,
    top_of,
    total_weight,
    two_totals,
    weights_here,
    weights_into,
)
from truedraw.sampling.kernels.spans import largest, maxima, num_spans

NOTHING = (-1, np.nan, np.nan)  # the answer for a row without a law


class Edits(NamedTuple):
    """Changes of single logits, each token once a row: z = z + before; z / factor if z > 0 else z factor; z + after."""

    ids: Ints  # [edits]
    before: Floats  # [edits]
    factor: Floats  # [edits]
    after: Floats  # [edits]


@numba.njit(error_model="numpy")
def draw_row(logits, how, edits, chance, scratch):  # type: ignore[no-untyped-def]
    """(token, log of its probability under the transformed law, log of its softmax) of logits [n].

    NOTHING where there is no law. chance = (counter [4], key [2], whether logarithms are wanted; else they may be NaN).
    """
    if edits.ids.shape[0] > 0:
        return draw_edited(logits, how, edits, chance, scratch)
    n, wanted = logits.shape[0], chance[2]
    tops = np.empty(num_spans(n), dtype=logits.dtype)
    top = tops_of(logits, tops)
    if not np.isfinite(top):
        return NOTHING
    tempered = Tempered(logits, top, coldness_of(how.temperature))
    if how.temperature > 0.0 and not is_cut(how, n):
        return draw_tempered(tempered, tops, chance)
    if how.temperature == 0.0:
        token, log = first_equal(logits, top), 0.0
    else:
        token, log = draw_listed(cut_logits(tempered, tops, how, scratch), chance, scratch, n)
    return token, log, log_share(logits, top, token) if wanted else np.nan


@numba.njit(error_model="numpy")
def draw_edited(logits, how, edits, chance, scratch):  # type: ignore[no-untyped-def]
    """The same where there is something to edit."""
    n, row, raw = logits.shape[0], scratch.row, np.nan
    edit(logits, edits, row)
    top = top_of(row)
    if not np.isfinite(top):
        return NOTHING
    if how.temperature == 0.0:
        token, log = first_equal(row, top), 0.0
    else:
        total = weights_here(row, top, coldness_of(how.temperature))
        if is_cut(how, n):
            token, log = draw_listed(cut_weights(-1, how, scratch, n), chance, scratch, n)
        else:
            token, log = draw_weighted(row, total, chance)
    if chance[2]:
        raw = log_share(logits, top_of(logits), token)
    return token, log, raw


@numba.njit(error_model="numpy")
def log_share(logits, top, token):  # type: ignore[no-untyped-def]
    """log(softmax(logits)[token]); `top` is the largest logit."""
    return np.float64(logits[token]) - top - math.log(total_weight(logits, top, 1.0))


@numba.njit(error_model="numpy")
def law_row(logits, how, scratch, out):  # type: ignore[no-untyped-def]
    """out [n], not the logits' memory: the law that draw_row draws from where nothing is edited.

    scratch.row may be `out`. Returns the largest logit; where that is NaN or infinite, there is no law.
    """
    n = logits.shape[0]
    tops = np.empty(num_spans(n), dtype=logits.dtype)
    top = tops_of(logits, tops)
    if not np.isfinite(top):
        return top
    tempered = Tempered(logits, top, coldness_of(how.temperature))
    if how.temperature > 0.0 and not is_cut(how, n):
        scale(out, 1.0 / weights_into(logits, top, tempered.coldness, out))
        return top
    if how.temperature == 0.0:
        out[:] = 0.0
        out[first_equal(logits, top)] = 1.0
        return top
    few = cut_logits(tempered, tops, how, scratch)
    out[:] = 0.0
    total = scratch.weights[:few].sum()
    for k in range(few):
        out[scratch.ids[k]] = scratch.weights[k] / total
    return top


@numba.njit(error_model="numpy")
def tops_of(logits, tops):  # type: ignore[no-untyped-def]
    """tops [spans]: the largest logits of the spans; returns the largest of all, NaN where one is NaN."""
    nan = maxima(logits, logits.shape[0], -np.inf, tops)
    return np.nan if nan else np.float64(largest(tops))


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
    """draw_row of a Tempered row that nothing is cut from."""
    counter, key, wanted = chance
    token = run(row, row.logits.shape[0], tops, counter, key)
    if not wanted:
        return token, np.nan, np.nan
    z = np.float64(row.logits[token]) - row.top
    if row.coldness == 1.0:
        log = z - math.log(total_weight(row.logits, row.top, 1.0))
        return token, log, log
    total, plain = two_totals(row.logits, row.top, row.coldness)
    return token, z * row.coldness - math.log(total), z - math.log(plain)


@numba.njit(error_model="numpy")
def draw_weighted(weights, total, chance):  # type: ignore[no-untyped-def]
    """Of weights that nothing is cut from."""
    counter, key, _ = chance
    tops = np.empty(num_spans(weights.shape[0]))
    maxima(weights, weights.shape[0], 0.0, tops)
    token = run(weights, weights.shape[0], tops, counter, key)
    return token, math.log(weights[token] / total)


@numba.njit(error_model="numpy")
def draw_listed(few, chance, scratch, n):  # type: ignore[no-untyped-def]
    """Of the first `few` tokens that are listed in scratch, of n."""
    counter, key, _ = chance
    weights = scratch.weights[:few]
    k = run_few(scratch.ids[:few], weights, n, counter, key)
    return scratch.ids[k], math.log(weights[k] / weights.sum())


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
