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
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.kernels.bits import alive, borrowed
from truedraw.sampling.kernels.clocks import span_bounds_before
from truedraw.sampling.kernels.cutting import cut_logits, cut_weights, is_cut
from truedraw.sampling.kernels.edges import first_equal
from truedraw.sampling.kernels.racing import race_all, run, run_few
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
def draw_row(logits, how, draw, scratch):  # type: ignore[no-untyped-def]
    """(token, log of its probability under the transformed law, log of its softmax) of logits [n].

    NOTHING where there is no law. draw = (the chance of clocks.py; whether logarithms are wanted, else they may be NaN;
    a token to use instead of a drawn one where nothing is cut, DRAWN for none). The logarithms of a token do not depend
    on who chose it.
    """
    if how.temperature > 0.0 and not is_cut(how, logits.shape[0]):
        return draw_tempered(logits, coldness_of(how.temperature), draw)
    return draw_cut(logits, how, draw, scratch)


@numba.njit(error_model="numpy")
def draw_tempered(logits, coldness, draw):  # type: ignore[no-untyped-def]
    """The same where nothing is cut: no memory of a row's size, and few arrays, as references to each are counted."""
    n, (chance, wanted, token) = logits.shape[0], draw
    memory = np.empty(num_spans(n), dtype=logits.dtype), np.empty(num_spans(n))
    row, tops, bounds = borrowed(logits), borrowed(memory[0]), borrowed(memory[1])
    if token == DRAWN:
        span_bounds_before(row, bounds, chance)
    top = tops_of(row, tops)
    if not np.isfinite(top):
        return NOTHING
    if token == DRAWN:
        token = run(Tempered(row, top, coldness), n, (tops, bounds), chance)
    alive(memory)
    if not wanted:
        return token, np.nan, np.nan
    z = np.float64(logits[token]) - top
    if coldness == 1.0:
        log = z - math.log(total_weight(logits, top, 1.0))
        return token, log, log
    total, plain = two_totals(logits, top, coldness)
    return token, z * coldness - math.log(total), z - math.log(plain)


@numba.njit(error_model="numpy")
def draw_cut(logits, how, draw, scratch):  # type: ignore[no-untyped-def]
    """The same where something is cut, or at temperature 0."""
    n, tops = logits.shape[0], np.empty(num_spans(logits.shape[0]), dtype=logits.dtype)
    top = tops_of(logits, tops)
    if not np.isfinite(top):
        return NOTHING
    if how.temperature == 0.0:
        token, log = draw_likeliest(logits, top, draw)
    else:
        tempered = Tempered(logits, top, coldness_of(how.temperature))
        token, log = draw_listed(cut_logits(tempered, tops, how, scratch), draw[0], scratch, n)
    return token, log, log_share(logits, top, token) if draw[1] else np.nan


@numba.njit(error_model="numpy")
def draw_edited(logits, how, edits, draw, scratch):  # type: ignore[no-untyped-def]
    """The same where there is something to edit."""
    n, row, raw = logits.shape[0], scratch.row, np.nan
    edit(logits, edits, row)
    top = top_of(row)
    if not np.isfinite(top):
        return NOTHING
    if how.temperature == 0.0:
        token, log = draw_likeliest(row, top, draw)
    else:
        total = weights_here(row, top, coldness_of(how.temperature))
        if is_cut(how, n):
            token, log = draw_listed(cut_weights(-1, how, scratch, n), draw[0], scratch, n)
        else:
            token, log = draw_weighted(row, total, draw[0])
    if draw[1]:
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


@numba.njit(error_model="numpy", forceinline=True)
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
def draw_weighted(weights, total, chance):  # type: ignore[no-untyped-def]
    """Of weights that nothing is cut from."""
    token = race_all(weights, weights.shape[0], chance)
    return token, math.log(weights[token] / total)


@numba.njit(error_model="numpy")
def draw_listed(few, chance, scratch, n):  # type: ignore[no-untyped-def]
    """Of the first `few` tokens that are listed in scratch, of n."""
    ids, weights = scratch.ids[:few], scratch.weights[:few]
    k = run_few(ids, weights, n, chance)
    return ids[k], math.log(weights[k] / weights.sum())


@numba.njit(error_model="numpy")
def draw_likeliest(values, top, draw):  # type: ignore[no-untyped-def]
    """The first of the largest values."""
    token = first_equal(values, top)
    given = token if draw[2] == DRAWN else draw[2]
    return given, 0.0 if given == token else -np.inf
