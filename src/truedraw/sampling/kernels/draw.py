"""One token from each row of logits: bias, penalties, temperature, truncation, softmax and race, fused.

A row that is only tempered is read once, for the largest logit of every span; the race then looks at a few dozen of
its logits. So it is where some are edited, which stand apart. It is read again for sums where logarithms are wanted,
and written down where a mask bans most of it, or a truncation needs every weight (cutting.py). The law is the one of
sampling/law.py in its default order.
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.kernels.clocks import span_bounds, span_bounds_before
from truedraw.sampling.kernels.cutting import cut_logits, is_cut
from truedraw.sampling.kernels.edges import first_top
from truedraw.sampling.kernels.patched import patch
from truedraw.sampling.kernels.racing import run
from truedraw.sampling.kernels.racing_few import run_few
from truedraw.sampling.kernels.rowkinds import Patched, Tempered, value_at, weight_of
from truedraw.sampling.kernels.softmax import coldness_of, write_weights
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
    row = Tempered(logits, top, coldness_of(how.temperature))
    token, log = draw_left(row, tops, how, draw, scratch)
    return token, log, log_share(logits, top, token, plain) if draw[1] else np.nan


@inner(error_model="numpy")
def draw_edited(logits, how, edits, draw, scratch):  # type: ignore[no-untyped-def]
    """The same of a row that is edited first; it always draws. The first logarithm is that of p."""
    n, raw_tops = logits.shape[0], np.empty(num_spans(logits.shape[0]), dtype=logits.dtype)
    tops, marks = np.empty(raw_tops.shape[0]), np.empty(n, np.uint8)
    raw_top, _, plain = known(logits, 1.0, raw_tops, draw[1], scratch.board)
    top = patch(logits, (raw_top, raw_tops), edits, tops, marks, scratch)
    if not np.isfinite(top):
        return NOTHING
    row = Patched(logits, scratch.row, marks, top, coldness_of(how.temperature))
    if how.temperature > 0.0 and not is_cut(how, n):
        token, log = draw_whole(row, tops, draw)
    else:
        token, log = draw_left(row, tops, how, draw, scratch)
    return token, log, log_share(logits, raw_top, token, plain) if draw[1] else np.nan


@inner(error_model="numpy")
def draw_whole(row, tops, draw):  # type: ignore[no-untyped-def]
    """(token, log) of a row that nothing is cut from; p is what `scale` makes of its weights."""
    n, bounds = row.logits.shape[0], np.empty(tops.shape[0])
    span_bounds(bounds, draw[0])
    token = run(row, n, (tops, bounds), draw[0])
    return token, math.log(weight_of(row, value_at(row, token)) * (1.0 / write_weights(row, ()))) if draw[1] else np.nan


@inner(error_model="numpy")
def draw_left(row, tops, how, draw, scratch):  # type: ignore[no-untyped-def]
    """(token, log) where something is cut, or at temperature 0; tops [spans]: the largest values of the spans."""
    if how.temperature == 0.0:
        return draw_likeliest(row, draw)
    return draw_listed(cut_logits(row, tops, how, scratch), draw[0], scratch, row.logits.shape[0])


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
def draw_listed(few, chance, scratch, n):  # type: ignore[no-untyped-def]
    """Of the first `few` tokens that are listed in scratch, of n."""
    ids, weights = scratch.ids[:few], scratch.weights[:few]
    k = run_few(ids, weights, n, chance)
    return ids[k], math.log(weights[k] / weights.sum())


@inner(error_model="numpy")
def draw_likeliest(row, draw):  # type: ignore[no-untyped-def]
    """The first of the largest values."""
    token = first_top(row)
    given = token if draw[2] == DRAWN else draw[2]
    return given, 0.0 if given == token else -np.inf
