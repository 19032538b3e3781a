"""One token from each row of logits: bias, penalties, temperature, truncation, softmax and race, fused.

A row that is only tempered is read once, for the largest logit of every span; the race then looks at a few dozen of
its logits. A row that is edited is written once, in float64, where its weights or nothing else take its place. The law
is that of sampling/law.py in its default order.
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.kernels.clocks import span_bounds, span_bounds_before
from truedraw.sampling.kernels.cutting import cut_logits, is_cut
from truedraw.sampling.kernels.edges import first_equal
from truedraw.sampling.kernels.edit import edit
from truedraw.sampling.kernels.racing import run
from truedraw.sampling.kernels.racing_few import run_few
from truedraw.sampling.kernels.rowkinds import Tempered
from truedraw.sampling.kernels.softmax import (
    coldness_of,
    weights_here,
)
from truedraw.sampling.kernels.spans import largest, maxima, num_spans
from truedraw.sampling.kernels.survey import survey
from truedraw.threads.borrowing import alive, borrowed

NOTHING = (-1, np.nan, np.nan)  # the answer for a row without a law


@inner(error_model="numpy")
def draw_row(logits, how, draw, scratch):  # type: ignore[no-untyped-def]
    """(token, log of its probability under the transformed law, log of its softmax) of logits [n].

    NOTHING where there is no law. draw = (the chance of clocks.py; whether logarithms are wanted, else they may be NaN;
    a token to use instead of a drawn one where nothing is cut, DRAWN for none). The logarithms of a token do not depend
    on who chose it.
    """
    if how.temperature > 0.0 and not is_cut(how, logits.shape[0]):
        return draw_tempered(logits, coldness_of(how.temperature), draw, scratch.board)
    return draw_cut(logits, how, draw, scratch)


@inner(error_model="numpy")
def draw_tempered(logits, coldness, draw, board):  # type: ignore[no-untyped-def]
    """The same where nothing is cut: no memory of a row's size, and few arrays, as references to each are counted."""
    n, (chance, wanted, token) = logits.shape[0], draw
    memory = np.empty(num_spans(n), dtype=logits.dtype), np.empty(num_spans(n))
    row, tops, bounds = borrowed(logits), borrowed(memory[0]), borrowed(memory[1])
    if token == DRAWN:
        span_bounds_before(row, bounds, chance)
    top, total, plain = known(row, coldness, tops, wanted, board)
    if not np.isfinite(top):
        return NOTHING
    if token == DRAWN:
        token = run(Tempered(row, top, coldness), n, (tops, bounds), chance)
    alive(memory)
    if not wanted:
        return token, np.nan, np.nan
    z = np.float64(logits[token]) - top
    return token, z * coldness - math.log(total), z - math.log(plain)


@inner(error_model="numpy")
def known(row, coldness, tops, wanted, board):  # type: ignore[no-untyped-def]
    """What survey says, and nothing of the sums where no logarithms are wanted."""
    if wanted:
        return survey(row, coldness, tops, board)
    return tops_of(row, tops), 0.0, 0.0


@inner(error_model="numpy")
def draw_cut(logits, how, draw, scratch):  # type: ignore[no-untyped-def]
    """The same where something is cut, or at temperature 0."""
    tops = np.empty(num_spans(logits.shape[0]), dtype=logits.dtype)
    top, _, plain = known(logits, 1.0, tops, draw[1], scratch.board)
    if not np.isfinite(top):
        return NOTHING
    token, log = draw_left(logits, (top, tops), how, draw, scratch)
    return token, log, log_share(logits, top, token, plain) if draw[1] else np.nan


@inner(error_model="numpy")
def draw_edited(logits, how, edits, draw, scratch):  # type: ignore[no-untyped-def]
    """The same of a row that is edited first, in scratch.row; it always draws. The first logarithm is that of p."""
    row, tops = scratch.row, np.empty(num_spans(logits.shape[0]))
    raw_tops = np.empty(tops.shape[0], dtype=logits.dtype)
    raw_top, _, plain = known(logits, 1.0, raw_tops, draw[1], scratch.board)
    top = edited_into(logits, raw_top, edits, row, tops)
    if not np.isfinite(top):
        return NOTHING
    if how.temperature > 0.0 and not is_cut(how, logits.shape[0]):
        token, log = draw_weighted(row, (top, tops), coldness_of(how.temperature), draw[0])
    else:
        token, log = draw_left(row, (top, tops), how, draw, scratch)
    return token, log, log_share(logits, raw_top, token, plain) if draw[1] else np.nan


@inner(error_model="numpy")
def draw_left(values, most, how, draw, scratch):  # type: ignore[no-untyped-def]
    """(token, log) where something is cut, or at temperature 0; most = (the largest value, those of the spans)."""
    top, tops = most
    if how.temperature == 0.0:
        return draw_likeliest(values, top, draw)
    tempered = Tempered(values, top, coldness_of(how.temperature))
    return draw_listed(cut_logits(tempered, tops, how, scratch), draw[0], scratch, values.shape[0])


@inner(error_model="numpy")
def log_share(logits, top, token, total):  # type: ignore[no-untyped-def]
    """log(softmax(logits)[token]); `top` is the largest logit, `total` the sum of the weights."""
    return np.float64(logits[token]) - top - math.log(total)


@inner(error_model="numpy", forceinline=True)
def tops_of(logits, tops):  # type: ignore[no-untyped-def]
    """tops [spans]: the largest logits of the spans; returns the largest of all, NaN where one is NaN."""
    nan = maxima(logits, logits.shape[0], -np.inf, tops)
    return np.nan if nan else np.float64(largest(tops))


@inner(error_model="numpy")
def edited_into(logits, raw_top, edits, out, tops):  # type: ignore[no-untyped-def]
    """out [n]: the edited logits; tops [spans]: their largest. Returns the largest one now, or NaN; raw_top: before."""
    for i in range(logits.shape[0]):
        out[i] = logits[i]
    if not np.isfinite(raw_top) or not edit(out, edits):
        return np.nan
    return tops_of(out, tops)


@inner(error_model="numpy")
def draw_weighted(values, most, coldness, chance):  # type: ignore[no-untyped-def]
    """(token, log) of values [n] that nothing is cut from, whose weights take their place; most as in draw_left.

    p is what `scale` makes of the weights. The largest ones of the spans are those of the largest values.
    """
    top, tops = most
    total, bounds = weights_here(values, top, coldness), np.empty(tops.shape[0])
    weights_here(tops, top, coldness)
    span_bounds(bounds, chance)
    token = run(values, values.shape[0], (tops, bounds), chance)
    return token, math.log(values[token] * (1.0 / total))


@inner(error_model="numpy")
def draw_listed(few, chance, scratch, n):  # type: ignore[no-untyped-def]
    """Of the first `few` tokens that are listed in scratch, of n."""
    ids, weights = scratch.ids[:few], scratch.weights[:few]
    k = run_few(ids, weights, n, chance)
    return ids[k], math.log(weights[k] / weights.sum())


@inner(error_model="numpy")
def draw_likeliest(values, top, draw):  # type: ignore[no-untyped-def]
    """The first of the largest values."""
    token = first_equal(values, top)
    given = token if draw[2] == DRAWN else draw[2]
    return given, 0.0 if given == token else -np.inf
