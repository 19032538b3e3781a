"""Numbers to codes with scales."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.matrix import INT4_BITS, Matrix

INT8_MAX = 127  # symmetric: -128 is not used
INT4_ZERO = 8  # codes 0 to 15 stand for -8 to 7
INT4_GROUP = 32  # input features that share a scale, as in the 4-bit types of files
GROUP = 64  # the same of int8 codes, where not all of a row share one
ROWS_AT_ONCE = 4096  # output rows quantised in one go, so that temporary copies stay small
PART_ROWS = 4096  # of a matrix, of which codes are made at once
SHORT = 2.0**-12, 65504.0
"""The largest scale of a part, for float16: its steps are 2**-24 at least, a 4,096th of that,
so groups that are smaller still than the largest one, by some thousands, lose of what 8 bits leave them."""


def quantise(values: NDArray[np.float32], *, short: bool = False) -> Matrix:
    """Symmetric int8 with one scale an output row, rounded to nearest; short: scales are such as float16 has, where
    the largest fits into it."""
    codes = np.empty(values.shape, np.int8)
    scales = np.empty((len(values), 1), np.float32)
    for start in range(0, len(values), ROWS_AT_ONCE):
        some = values[start : start + ROWS_AT_ONCE]
        largest = np.abs(some).max(axis=1, keepdims=True)
        scale = np.where(largest == 0, 1, largest / INT8_MAX).astype(np.float32)
        scale = as_halves(scale) if short else scale
        codes[start : start + ROWS_AT_ONCE] = np.rint(some / scale)
        scales[start : start + ROWS_AT_ONCE] = scale
    return Matrix(codes, scales)


def quantise4(values: NDArray[np.float32]) -> Matrix:
    """4-bit codes with one scale a group of INT4_GROUP input features; the features must be whole groups.

    The largest value of a group gets the code 0, one step further from the zero than 15 is (as Q4_0 does), then the
    scale is the one of least squares for the codes and the codes are rounded anew.
    """
    out, width = values.shape
    codes = np.empty((out, width // 2), np.uint8)
    scales = np.empty((out, width // INT4_GROUP), np.float32)
    for start in range(0, out, ROWS_AT_ONCE):
        groups = values[start : start + ROWS_AT_ONCE].reshape(-1, width // INT4_GROUP, INT4_GROUP)
        found, steps = _four_bits(groups)
        pairs = found.reshape(len(groups), -1)
        codes[start : start + ROWS_AT_ONCE] = pairs[:, ::2] | pairs[:, 1::2] << INT4_BITS
        scales[start : start + ROWS_AT_ONCE] = steps
    return Matrix(codes, scales, INT4_ZERO)


def _four_bits(groups: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Codes [rows, groups, group] and scales [rows, groups] of values [rows, groups, group]."""
    at = np.abs(groups).argmax(-1, keepdims=True)
    scales = np.take_along_axis(groups, at, -1) / np.float32(-INT4_ZERO)
    for _ in range(2):
        codes = np.rint(groups / np.where(scales == 0, 1, scales)).clip(-INT4_ZERO, INT4_ZERO - 1)
        squares = np.maximum((codes * codes).sum(-1, keepdims=True), 1)
        scales = ((groups * codes).sum(-1, keepdims=True) / squares).astype(np.float32)
    return (codes + INT4_ZERO).astype(np.uint8), scales[..., 0]


def codes_of(values: NDArray[Any], *, short: bool = False) -> Matrix:
    """int8 codes of a matrix [out, in], a scale for each GROUP input features where they are whole groups; short: as
    `quantise` has it.

    One scale a row would not do for a head: it reads streams of very different size, and much of some rows is one
    number, of what it begins with. With it a head that was kept in 0.79 of places was kept in 0.20; so, in 0.78.
    """
    rows = len(values)
    parts = (values[start : start + PART_ROWS] for start in range(0, max(1, rows), PART_ROWS))
    return codes_of_parts(rows, parts, short=short)


def codes_of_parts(rows: int, parts: Iterable[NDArray[Any]], *, short: bool) -> Matrix:
    """The same of parts of PART_ROWS rows, the last one shorter: so the numbers are never there all at once."""
    start, codes, scales = 0, np.empty((0, 0), np.int8), np.empty((0, 0), np.float32)
    for part in parts:
        held = _codes(np.ascontiguousarray(part, np.float32), short)
        assert held.scales is not None
        if not start:
            codes, scales = (np.empty((rows, each.shape[1]), each.dtype) for each in (held.values, held.scales))
        codes[start : start + len(part)], scales[start : start + len(part)] = held.values, held.scales
        start += len(part)
    return Matrix(codes, scales)


def _codes(part: NDArray[np.float32], short: bool) -> Matrix:
    out, width = part.shape
    if width % GROUP:
        return quantise(part)
    largest = float(np.abs(part).max(initial=0)) / INT8_MAX
    held = quantise(part.reshape(-1, GROUP), short=short and SHORT[0] <= largest <= SHORT[1])
    assert held.scales is not None
    return Matrix(held.values.reshape(out, width), held.scales.reshape(out, -1))


def as_halves(scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """The next number of float16 that is no smaller: so codes stay in their range."""
    found = scales.astype(np.float16)
    return np.where(found < scales, np.nextafter(found, np.float16(np.inf)), found).astype(np.float32)
