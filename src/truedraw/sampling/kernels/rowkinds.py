"""Rows whose weights are computed when they are looked at, so that no array of weights is ever written.

A row is an array of weights [n] itself, or one of the kinds below. Its *value* at an index is what is read there, a
logit or a weight; a weight grows with its value, but for its last bit, so the largest value of a span has the largest
weight.
"""

# ruff: noqa: ARG001, ARG005 - numba matches the arguments of overloads by name

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from truedraw.compiled import inner
from truedraw.protocol import Floats, Ints, Logits
from truedraw.sampling.kernels.bits import bits, double, prefetch
from truedraw.sampling.kernels.exponential import EXPONENT_BIAS, LOG2_E, MANTISSA_BITS, weight

Marks = NDArray[np.uint8]
UNIT = 2.0**-MANTISSA_BITS
PER_POWER = 2.0**MANTISSA_BITS
LOWEST_POWER, HIGHEST_POWER = -1022.0, 1023.999  # of the doubles that have all their bits
SAG = 0.0861  # of log2 below 1 + log2 at most, between two powers of two: a line in place of the curve


class Tempered(NamedTuple):
    """Weights exp((logits - top) coldness); values are logits."""

    logits: Logits | Floats  # [n]
    top: float
    coldness: float  # 1 / temperature


class Patched(NamedTuple):
    """The same where some logits are edited: those marked stand in `edited`, where the others may be anything."""

    logits: Logits | Floats  # [n]
    edited: Floats  # [n]
    marks: Marks  # [n] 0 or 1
    top: float
    coldness: float


class Excess(NamedTuple):
    """Weights (share p - q)+, what is left of p after a draft; values are weights."""

    p: Floats  # [n]
    q: Floats  # [n]
    share: float


class Remainder(NamedTuple):
    """Weights (share p - q)+ of p = unit exp((logits - top) coldness) and of a q over few tokens; values are weights.

    All that is written down is `kept` [m], what is left at the tokens of q, ids [m], which rise.
    """

    logits: Logits | Floats  # [n]
    top: float
    coldness: float
    unit: float
    share: float
    ids: Ints
    kept: Floats


@inner(error_model="numpy")
def left(share, p, q):  # type: ignore[no-untyped-def]
    """What is left of a weight after a draft."""
    return max(share * p - q, 0.0)


@inner(error_model="numpy")
def left_there(row, i):  # type: ignore[no-untyped-def]
    """The weight of index i of a Remainder."""
    place = np.searchsorted(row.ids, i)
    if place < row.ids.shape[0] and row.ids[place] == i:
        return row.kept[place]
    return row.share * (weight(row.logits[np.uint64(i)], row.top, row.coldness) * row.unit)


@inner(error_model="numpy")
def edited_there(row, i):  # type: ignore[no-untyped-def]
    """The logit of index i of a Patched row."""
    logit, edited = np.float64(row.logits[i]), row.edited[i]
    return edited if row.marks[i] else logit


def value_at(row: Any, i: Any) -> Any:
    """The value of index i >= 0. For compiled code only, as all four.

    Indices are read as unsigned, since numba's support of negative ones keeps a loop from becoming vector instructions.
    """
    raise NotImplementedError


def fetch(row: Any, i: Any) -> Any:
    """Start to bring the value of an index >= 0 near, which may lie beyond the end."""
    raise NotImplementedError


def weight_of(row: Any, value: Any) -> Any:
    """The weight that belongs to a value."""
    raise NotImplementedError


def log2_above(row: Any, value: Any) -> Any:
    """A number at least as large as log2 of that weight, and not much larger."""
    raise NotImplementedError


@overload(value_at)
def _value_at(row, i):  # type: ignore[no-untyped-def]
    if kind(row) is Tempered:
        return lambda row, i: row.logits[np.uint64(i)]
    if kind(row) is Excess:
        return lambda row, i: left(row.share, row.p[np.uint64(i)], row.q[np.uint64(i)])
    if kind(row) is Remainder:
        return lambda row, i: left_there(row, np.int64(i))
    if kind(row) is Patched:
        return lambda row, i: edited_there(row, np.uint64(i))
    return lambda row, i: row[np.uint64(i)]


@overload(fetch)
def _fetch(row, i):  # type: ignore[no-untyped-def]
    if kind(row) in {Tempered, Patched, Remainder}:
        return lambda row, i: prefetch(row.logits, np.uint64(i))
    if kind(row) is Excess:
        return lambda row, i: (prefetch(row.p, np.uint64(i)), prefetch(row.q, np.uint64(i)))
    return lambda row, i: prefetch(row, np.uint64(i))


@overload(weight_of)
def _weight_of(row, value):  # type: ignore[no-untyped-def]
    if kind(row) in {Tempered, Patched}:
        return lambda row, value: weight(value, row.top, row.coldness)
    return lambda row, value: value


@overload(log2_above)
def _log2_above(row, value):  # type: ignore[no-untyped-def]
    if kind(row) in {Tempered, Patched}:
        return lambda row, value: (np.float64(value) - row.top) * row.coldness * LOG2_E
    return lambda row, value: log2_below(value) + SAG


@inner(error_model="numpy")
def log2_below(x):  # type: ignore[no-untyped-def]
    """log2 of x >= 0 or at most SAG less: the exponent and, linearly, the mantissa; about -1023 at 0."""
    return np.float64(bits(x)) * UNIT - EXPONENT_BIAS


@inner(error_model="numpy")
def power_above(x):  # type: ignore[no-untyped-def]
    """2**x or up to a sixteenth more, a line in place of the curve; neither 0 nor infinite."""
    return double(np.int64((min(max(x, LOWEST_POWER), HIGHEST_POWER) + EXPONENT_BIAS) * PER_POWER))


def kind(row: Any) -> Any:
    """The class of a row whose type numba tells, None of an array."""
    return getattr(row, "instance_class", None)
