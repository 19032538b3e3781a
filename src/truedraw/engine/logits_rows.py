"""Rows of logits in as few bytes as hold every bit.

An engine that computes in bfloat16 or float16 hands out float32 rows whose last bits are all zero: they are kept in
half the bytes. Whether that loses nothing is seen in the bits of each row, never assumed of an engine.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.bfloat16 import narrowed, widened
from truedraw.protocol import Logits

LEAST_BYTES = 2  # of an entry, in the smallest form
BFLOAT16_LOST = np.uint32(0xFFFF)  # the bits of a float32 that bfloat16 has no room for
FLOAT16_LOST = np.uint32(0x1FFF)  # the same of float16, whose range is smaller too


class Form(Enum):
    """How the entries of a row are kept."""

    AS_GIVEN = "as given"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Packed(NamedTuple):
    """A row; bfloat16 entries are uint16, as numpy has no such type."""

    entries: NDArray[Any]  # [vocab]
    form: Form


def pack(logits: Logits) -> Packed:
    """A copy of a row [vocab], of any float type; `unpack` returns the same bits in the same type."""
    if logits.dtype != np.float32:
        return Packed(logits.copy(), Form.AS_GIVEN)
    words = np.ascontiguousarray(logits).view(np.uint32)
    used = np.bitwise_or.reduce(words)
    if not used & BFLOAT16_LOST:
        return Packed(narrowed(words), Form.BFLOAT16)
    halves = None if used & FLOAT16_LOST else _halves(words)
    return Packed(logits.copy(), Form.AS_GIVEN) if halves is None else Packed(halves, Form.FLOAT16)


def unpack(row: Packed) -> Logits:
    """The row [vocab] as it was, in an array of its own."""
    if row.form is Form.BFLOAT16:
        return widened(row.entries)
    whole: Logits = row.entries.astype(np.float32) if row.form is Form.FLOAT16 else row.entries.copy()
    return whole


def _halves(words: NDArray[np.uint32]) -> NDArray[np.float16] | None:
    """float16 [vocab], or None: too large and too small numbers have other bits when they come back."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        halves = words.view(np.float32).astype(np.float16)
    return halves if np.array_equal(halves.astype(np.float32).view(np.uint32), words) else None
