"""Matrices of a head in codes of 4 bits: a step of a head takes as long as what it reads takes to come.

A group of INT4_GROUP input features has a scale and a least value, those of least squared error among what is tried.
Whatever a head says, drafts are drawn from just that, so this changes how many are kept and no law.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from truedraw.compiled import compiled, inlined
from truedraw.draft.head.card import ASKING, ATTENTIVE, FOUND, RECURRENT
from truedraw.draft.head.compiled import rows_of
from truedraw.engine.constants.matrix import INT4_BITS, LOW_HALF, Matrix, dense
from truedraw.engine.constants.rounding import INT4_GROUP
from truedraw.engine.native.blocks import SIZE
from truedraw.engine.native.laying import halves_of
from truedraw.engine.native.softly import FREE
from truedraw.threads.processors import processors

WRITTEN = "written"  # e(tokens), which is in no file
STEP = ("up", "down", "token", WRITTEN)
IN_FOUR_BITS = {RECURRENT: STEP, ATTENTIVE: (*STEP, ASKING, FOUND)}
"""Matrices of each kind that are read so. Those that are left out are small and lose more."""
TOP = np.float32(LOW_HALF)
SPANS = 4, np.float32(0.08)
"""So many ranges are tried for a group, each by so much of the whole shorter than the one before: a code more for all
numbers may be worth more than the ends of a few."""
ROWS_AT_ONCE = 256  # that are written out in float32
FITS = 3  # scales and least values that are tried for each: by its ends, then by least squares for the codes before


def as_read(kind: str, name: str, matrix: Matrix) -> Matrix:
    """A matrix of a head of this kind, as its network reads it."""
    return in_four_bits(matrix) if name in IN_FOUR_BITS.get(kind, ()) else matrix


def in_four_bits(matrix: Matrix) -> Matrix:
    """The same in codes of 4 bits, where they fill blocks of a pass and float16 holds all their scales.

    Else, or where it has such codes, as it is."""
    if matrix.width % SIZE or matrix.values.dtype == np.uint8:
        return matrix
    out, width = matrix.values.shape
    codes = np.empty((out, width // 2), np.uint8)
    scales, least = (np.empty((out, width // INT4_GROUP), np.float32) for _ in range(2))

    def round_some(start: int) -> None:
        some = slice(start, start + ROWS_AT_ONCE)
        values = np.ascontiguousarray(dense(rows_of(matrix, some)))
        _round_all(values, codes[some], scales[some], least[some])

    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(round_some, range(0, out, ROWS_AT_ONCE)))
    found = Matrix(codes, scales, 0, least)
    return matrix if halves_of(found) is None else found


@compiled(fastmath=FREE, error_model="numpy", nogil=True)
def _round_all(values, codes, scales, least):  # type: ignore[no-untyped-def]
    """Of values [out, in], finite: codes [out, in / 2], two a byte, scales and least values [out, groups]."""
    for row in range(len(values)):
        for group in range(scales.shape[1]):
            first = np.uint64(group * INT4_GROUP)
            scale, low = _fitted(values[row], first)
            scales[row, group], least[row, group] = scale, low
            _write(values[row], first, scale, low, codes[row])


@inlined(fastmath=FREE, error_model="numpy")
def _fitted(row, first):  # type: ignore[no-untyped-def]
    """Scale and least value for the group that begins there."""
    low, high = row[first], row[first]
    for k in range(INT4_GROUP):
        low, high = min(low, row[first + np.uint64(k)]), max(high, row[first + np.uint64(k)])
    best, found = np.float32(np.inf), (np.float32(0), low)
    for span in range(SPANS[0]):
        cut = (high - low) * SPANS[1] * np.float32(0.5 * span)
        scale, start = (high - low - cut - cut) / TOP, low + cut
        for _ in range(FITS):
            lost, scale_of_fit, start_of_fit = _fit(row, first, scale, start)
            if lost < best:
                best, found = lost, (scale, start)
            scale, start = scale_of_fit, start_of_fit
    return found


@inlined(fastmath=FREE, error_model="numpy")
def _fit(row, first, scale, start):  # type: ignore[no-untyped-def]
    """What is lost by rounding with this scale and least value, and those of least squares for its codes."""
    lost, codes, squares, total, both = np.float32(0), np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    fine = np.float32(1) / scale if scale > 0 else np.float32(0)
    for k in range(INT4_GROUP):
        number = row[first + np.uint64(k)]
        code = min(max(np.rint((number - start) * fine), np.float32(0)), TOP)
        off = number - (start + scale * code)
        lost += off * off
        codes += code
        squares += code * code
        total += number
        both += code * number
    spread = INT4_GROUP * squares - codes * codes
    if spread <= 0:
        return lost, scale, start
    fitted = (INT4_GROUP * both - codes * total) / spread
    return lost, np.float32(fitted), np.float32((total - fitted * codes) / INT4_GROUP)


@inlined(fastmath=FREE, error_model="numpy")
def _write(row, first, scale, start, codes):  # type: ignore[no-untyped-def]
    """The codes of a group, the first of two in the low half of a byte."""
    fine = np.float32(1) / scale if scale > 0 else np.float32(0)
    for k in range(INT4_GROUP // 2):
        place = first + np.uint64(2 * k)
        low = min(max(np.rint((row[place] - start) * fine), np.float32(0)), TOP)
        high = min(max(np.rint((row[place + np.uint64(1)] - start) * fine), np.float32(0)), TOP)
        codes[place // np.uint64(2)] = np.uint8(low) | np.uint8(np.uint8(high) << np.uint8(INT4_BITS))
