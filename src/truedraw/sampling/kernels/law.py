"""The laws that draw.py draws from, written out: the same weights, one by one."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.cutting import cut_logits, is_cut
from truedraw.sampling.kernels.draw import tops_of
from truedraw.sampling.kernels.edges import first_top
from truedraw.sampling.kernels.patched import patch
from truedraw.sampling.kernels.rowkinds import Patched, Tempered
from truedraw.sampling.kernels.softmax import coldness_of, scale, write_weights
from truedraw.sampling.kernels.spans import num_spans


@inner(error_model="numpy")
def law_row(logits, how, scratch):  # type: ignore[no-untyped-def]
    """scratch.row [n], not the logits' memory: the law that draw_row draws from.

    Returns the largest logit; where that is NaN or infinite, there is no law.
    """
    tops = np.empty(num_spans(logits.shape[0]), dtype=logits.dtype)
    top = tops_of(logits, tops)
    if np.isfinite(top):
        law_here(Tempered(logits, top, coldness_of(how.temperature)), tops, how, scratch)
    return top


@inner(error_model="numpy")
def law_edited(logits, how, edits, scratch):  # type: ignore[no-untyped-def]
    """scratch.row [n]: the law that draw_edited draws from; returns the largest edited logit, as law_row."""
    raw_tops, tops = np.empty(num_spans(logits.shape[0]), dtype=logits.dtype), np.empty(num_spans(logits.shape[0]))
    marks = np.empty(logits.shape[0], np.uint8)
    top = patch(logits, (tops_of(logits, raw_tops), raw_tops), edits, tops, marks, scratch)
    if np.isfinite(top):
        row = Patched(logits, scratch.row, marks, top, coldness_of(how.temperature))
        law_here(row, tops, how, scratch)
    return top


@inner(error_model="numpy")
def law_here(row, tops, how, scratch):  # type: ignore[no-untyped-def]
    """scratch.row [n]: the law of a Tempered row, or of a Patched one that is edited there; tops as in draw_left."""
    out = scratch.row
    if how.temperature == 0.0:
        likeliest = first_top(row)
        out[:] = 0.0
        out[likeliest] = 1.0
    elif is_cut(how, row.logits.shape[0]):
        few = cut_logits(row, tops, how, scratch)
        out[:] = 0.0
        total = scratch.weights[:few].sum()
        for k in range(few):
            out[scratch.ids[k]] = scratch.weights[k] / total
    else:
        scale(out, 1.0 / write_weights(row, out))
