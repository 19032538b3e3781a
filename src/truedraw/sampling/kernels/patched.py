"""Rows that are edited: the logits that change stand apart, mostly few, and all others stay where they are."""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import apart, inner
from truedraw.sampling.kernels.edit import all_within, change
from truedraw.sampling.kernels.rowkinds import Patched, edited_there
from truedraw.sampling.kernels.spans import COLUMNS, SPAN, index, largest, maxima, span_of


@apart(error_model="numpy")
def patch(logits, most, edits, tops, marks, scratch):  # type: ignore[no-untyped-def]
    """The largest logit once a row is edited, NaN where it has no law.

    scratch.row and marks [n]: as a Patched row has them; tops [spans]: the largest logits of the spans now; most = (the
    largest one before, those of the spans).
    """
    if not np.isfinite(most[0]) or not all_within(edits, logits.shape[0]):
        return np.nan
    if edits[-1].shape[0] > 0:
        return patch_all(logits, edits, tops, marks, scratch.row)
    marks[:] = 0
    named = set_aside(logits, edits, marks, scratch)
    change(scratch.row, edits)
    nan = follow(Patched(logits, scratch.row, marks, most[0], 1.0), scratch.ids[:named], most[1], tops)
    return np.nan if nan else largest(tops)


@inner(error_model="numpy")
def patch_all(logits, edits, tops, marks, edited):  # type: ignore[no-untyped-def]
    """The same where most tokens may be banned: all logits stand apart."""
    marks[:] = 1
    for i in range(logits.shape[0]):
        edited[i] = logits[i]
    change(edited, edits)
    return np.nan if maxima(edited, logits.shape[0], -np.inf, tops) else largest(tops)


@inner(error_model="numpy")
def set_aside(logits, edits, marks, scratch):  # type: ignore[no-untyped-def]
    """scratch.ids [m]: all tokens that are named, which are marked, each with its logit in scratch.row; returns m."""
    biased, _, text, _, output, _, _, banned, _ = edits
    named = set_these_aside(logits, biased, marks, scratch, 0)
    named = set_these_aside(logits, text[0], marks, scratch, named)
    named = set_these_aside(logits, text[2], marks, scratch, named)
    named = set_these_aside(logits, output[0], marks, scratch, named)
    named = set_these_aside(logits, output[2], marks, scratch, named)
    return set_these_aside(logits, banned, marks, scratch, named)


@inner(error_model="numpy")
def set_these_aside(logits, ids, marks, scratch, named):  # type: ignore[no-untyped-def]
    """The same of some tokens, where so many are already."""
    for k in range(ids.shape[0]):
        token = np.uint64(ids[k])
        if not marks[token]:
            marks[token], scratch.row[token], scratch.ids[np.uint64(named)] = 1, logits[token], ids[k]
            named += 1
    return named


@inner(error_model="numpy")
def follow(row, named, before, tops):  # type: ignore[no-untyped-def]
    """tops [spans], which were `before`, once the tokens named [m] are edited; whether one became NaN."""
    nan = False
    tops[:] = before
    for k in range(named.shape[0]):
        token, span = np.uint64(named[k]), np.uint64(span_of(named[k])[0])
        value = row.edited[token]
        if value > tops[span]:
            tops[span] = value
        elif row.logits[token] == tops[span] == before[span] and value < before[span]:
            tops[span] = top_of_span(row, np.int64(span))
        nan |= np.isnan(value)
    return nan


@inner(error_model="numpy")
def top_of_span(row, span):  # type: ignore[no-untyped-def]
    """The largest logit of a span of a Patched row."""
    top, first = -math.inf, index(span, 0)
    for place in range(min(SPAN, (row.logits.shape[0] - first + COLUMNS - 1) // COLUMNS)):
        value = edited_there(row, np.uint64(first + place * COLUMNS))
        top = value if value > top else top
    return top
