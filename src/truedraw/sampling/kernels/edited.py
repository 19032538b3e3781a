"""Rows under a law that may edit logits, as compiled rounds look at them: edits follow the text, and drafts within it.

`edited` is () where nothing is edited, else what tallies.py keeps: Edits as a plain tuple, in which a text has room
behind its tokens, and how many these are. Both kinds are compiled apart.
"""

# ruff: noqa: ARG001, ARG005, PLW0108 - numba matches the arguments of overloads by name, and takes lambdas for them

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from truedraw.compiled import forwarded, inner
from truedraw.sampling.kernels.draw import draw_edited, draw_row, tops_of
from truedraw.sampling.kernels.edit import edit
from truedraw.sampling.kernels.law import law_edited, law_here, law_row
from truedraw.sampling.kernels.rowkinds import Patched
from truedraw.sampling.kernels.softmax import coldness_of
from truedraw.sampling.kernels.spans import num_spans
from truedraw.sampling.tallies import OUTPUT, TEXT

OPTIONS = forwarded(error_model="numpy")


def draw_there(logits: Any, how: Any, edited: Any, path: Any, draw: Any, scratch: Any) -> Any:
    """draw_row, or draw_edited, behind the text and a path of tokens [n]. For compiled code only, as all of these."""
    raise NotImplementedError


def law_there(logits: Any, how: Any, edited: Any, path: Any, scratch: Any) -> Any:
    """law_row into scratch.row, or law_edited, likewise."""
    raise NotImplementedError


def known_law_there(logits: Any, known: Any, how: Any, edited: Any, path: Any, scratch: Any, whole: Any) -> Any:
    """law_there of the tokens known [n], which rise, where logits [n] know no others; whole: memory [vocab]."""
    raise NotImplementedError


def join(edited: Any, tokens: Any, number: Any) -> Any:
    """So many tokens join the text."""
    raise NotImplementedError


@overload(draw_there, jit_options=OPTIONS)
def _draw_there(logits, how, edited, path, draw, scratch):  # type: ignore[no-untyped-def]
    if len(edited):
        return lambda logits, how, edited, path, draw, scratch: draw_edited(
            logits, how, edits_behind(edited, path), draw, scratch
        )
    return lambda logits, how, edited, path, draw, scratch: draw_row(logits, how, draw, scratch)


@overload(law_there, jit_options=OPTIONS)
def _law_there(logits, how, edited, path, scratch):  # type: ignore[no-untyped-def]
    if len(edited):
        return lambda logits, how, edited, path, scratch: law_edited(logits, how, edits_behind(edited, path), scratch)
    return lambda logits, how, edited, path, scratch: law_row(logits, how, scratch)


@overload(known_law_there, jit_options=OPTIONS)
def _known_law_there(logits, known, how, edited, path, scratch, whole):  # type: ignore[no-untyped-def]
    if len(edited):
        return lambda logits, known, how, edited, path, scratch, whole: known_edited(
            logits, known, how, edits_behind(edited, path), scratch, whole
        )
    return lambda logits, known, how, edited, path, scratch, whole: law_row(logits, how, scratch)


@overload(join, jit_options=OPTIONS)
def _join(edited, tokens, number):  # type: ignore[no-untyped-def]
    if len(edited):
        return lambda edited, tokens, number: counted(edited, tokens, number)
    return lambda edited, tokens, number: None


@inner(error_model="numpy")
def known_edited(logits, known, how, edits, scratch, whole):  # type: ignore[no-untyped-def]
    """scratch.row [n]: the law over the known tokens alone; returns the largest edited logit, as law_edited."""
    n, out = known.shape[0], scratch.row
    tops, marks = np.empty(num_spans(n)), np.ones(n, np.uint8)
    for k in range(n):
        whole[known[k]] = logits[k]
    if not np.isfinite(tops_of(logits, np.empty(tops.shape[0], dtype=logits.dtype))) or not edit(whole, edits):
        return np.nan
    for k in range(n):
        out[k] = whole[known[k]]
    top = tops_of(out, tops)
    if np.isfinite(top):
        law_here(Patched(logits, out, marks, top, coldness_of(how.temperature)), tops, how, scratch)
    return top


@inner(error_model="numpy")
def edits_behind(edited, path):  # type: ignore[no-untyped-def]
    """Edits where the text goes on with a path."""
    edits, lengths = edited
    biased, bias, text, repetition, output, frequency, presence, banned, allowed = edits
    seen = seen_behind(text, lengths[TEXT], path), seen_behind(output, lengths[OUTPUT], path)
    return biased, bias, seen[0], repetition, seen[1], frequency, presence, banned, allowed


@inner(error_model="numpy")
def seen_behind(seen, lengths, path):  # type: ignore[no-untyped-def]
    """A text that goes on; one that is not counted stays empty."""
    ids, counts, recent = seen
    first, further = lengths[1], path.shape[0] if counts.shape[0] > 0 else 0
    for k in range(further):
        recent[first + k] = np.int64(path[k])
    return ids[: lengths[0]], counts, recent[: first + further]


@inner(error_model="numpy")
def counted(edited, tokens, number):  # type: ignore[no-untyped-def]
    """So many tokens [n] are recent ones of either text."""
    edits, lengths = edited
    counted_in(edits[2], lengths[TEXT], tokens, number)
    counted_in(edits[4], lengths[OUTPUT], tokens, number)


@inner(error_model="numpy")
def counted_in(seen, lengths, tokens, number):  # type: ignore[no-untyped-def]
    """The same of one text."""
    _, counts, recent = seen
    if counts.shape[0] > 0:
        for k in range(number):
            recent[lengths[1] + k] = tokens[k]
        lengths[1] += number
