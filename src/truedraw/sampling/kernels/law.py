"""The laws that draw.py draws from, written out: the same weights, one by one."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.cutting import cut_logits, is_cut
from truedraw.sampling.kernels.draw import edited_into, tops_of
from truedraw.sampling.kernels.edges import first_equal
from truedraw.sampling.kernels.rowkinds import Tempered
from truedraw.sampling.kernels.softmax import coldness_of, scale, weights_here, weights_into
from truedraw.sampling.kernels.spans import num_spans


@inner(error_model="numpy")
def law_row(logits, how, scratch, out):  # type: ignore[no-untyped-def]
    """out [n], not the logits' memory: the law that draw_row draws from; scratch.row may be `out`.

    Returns the largest logit; where that is NaN or infinite, there is no law.
    """
    tops = np.empty(num_spans(logits.shape[0]), dtype=logits.dtype)
    top = tops_of(logits, tops)
    if np.isfinite(top):
        if how.temperature > 0.0 and not is_cut(how, logits.shape[0]):
            scale(out, 1.0 / weights_into(logits, top, coldness_of(how.temperature), out))
        else:
            law_left(logits, (top, tops), how, scratch, out)
    return top


@inner(error_model="numpy")
def law_edited(logits, how, edits, scratch):  # type: ignore[no-untyped-def]
    """scratch.row [n]: the law that draw_edited draws from; returns the largest edited logit, as law_row."""
    out, tops = scratch.row, np.empty(num_spans(logits.shape[0]))
    raw_top = tops_of(logits, np.empty(tops.shape[0], dtype=logits.dtype))
    top = edited_into(logits, raw_top, edits, out, tops)
    return law_here((top, tops), how, scratch)


@inner(error_model="numpy")
def law_here(most, how, scratch):  # type: ignore[no-untyped-def]
    """scratch.row [n]: the law of the edited logits that stand there; most as in draw_left, whose first is returned."""
    out, (top, tops) = scratch.row, most
    if np.isfinite(top):
        if how.temperature > 0.0 and not is_cut(how, out.shape[0]):
            scale(out, 1.0 / weights_here(out, top, coldness_of(how.temperature)))
        else:
            law_left(out, (top, tops), how, scratch, out)
    return top


@inner(error_model="numpy")
def law_left(values, most, how, scratch, out):  # type: ignore[no-untyped-def]
    """out [n], which may be the values' memory: the law that draw_left draws from."""
    top, tops = most
    if how.temperature == 0.0:
        likeliest = first_equal(values, top)
        out[:] = 0.0
        out[likeliest] = 1.0
        return
    few = cut_logits(Tempered(values, top, coldness_of(how.temperature)), tops, how, scratch)
    out[:] = 0.0
    total = scratch.weights[:few].sum()
    for k in range(few):
        out[scratch.ids[k]] = scratch.weights[k] / total
