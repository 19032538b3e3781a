"""The kernels as Python calls them, one row at a time.

Arguments are plain tuples, since a named one takes half a microsecond on its way into compiled code.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled
from truedraw.protocol import Floats, Ints
from truedraw.sampling.kernels.clocks import chance_of
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.draw import draw_edited, draw_row
from truedraw.sampling.kernels.edited import known_edited
from truedraw.sampling.kernels.law import law_edited, law_row
from truedraw.sampling.transform import Transform

Memory = tuple[Floats, Floats, Ints, Ints]
"""A Scratch as a plain tuple."""


def memory(vocab_size: int, board: Ints) -> Memory:
    """Of one thread."""
    return np.empty(vocab_size), np.empty(vocab_size), np.empty(vocab_size, np.int64), board


@compiled(nogil=True, error_model="numpy")
def draw_one(logits, how, draw, scratch):  # type: ignore[no-untyped-def]
    """draw_row; draw = (counter; key; whether logarithms are wanted; a token, where nothing is cut, or DRAWN)."""
    counter, key, wanted, given = draw
    return draw_row(logits, Transform(*how), (chance_of(counter, key), wanted, given), Scratch(*scratch))


@compiled(nogil=True, error_model="numpy")
def draw_edited_one(logits, how, draw, scratch, edits):  # type: ignore[no-untyped-def]
    """draw_edited; `draw` as for draw_one."""
    counter, key, wanted, given = draw
    return draw_edited(logits, Transform(*how), edits, (chance_of(counter, key), wanted, given), Scratch(*scratch))


@compiled(nogil=True, error_model="numpy")
def law_into(logits, how, scratch):  # type: ignore[no-untyped-def]
    """law_row."""
    return law_row(logits, Transform(*how), Scratch(*scratch))


@compiled(nogil=True, error_model="numpy")
def edited_law(logits, how, edits, scratch):  # type: ignore[no-untyped-def]
    """law_edited."""
    return law_edited(logits, Transform(*how), edits, Scratch(*scratch))


@compiled(nogil=True, error_model="numpy")
def edited_law_of_known(logits, known, how, edits, scratch, whole):  # type: ignore[no-untyped-def]
    """known_edited."""
    return known_edited(logits, known, Transform(*how), edits, Scratch(*scratch), whole)
