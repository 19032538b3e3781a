"""Sums of a row's weights, to 1e-14, of one part after the other: the same numbers, whoever takes which part."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.bits import long_vectors
from truedraw.sampling.kernels.exponential import LOG2_E, power
from truedraw.sampling.kernels.spans import TILE

PART = 4 * TILE
LARGEST = np.finfo(np.float64).max


@inner(error_model="numpy")
def num_parts(n):  # type: ignore[no-untyped-def]
    """Of a row of n."""
    return (n + PART - 1) // PART


@inner(error_model="numpy")
def total_weight(values, top, coldness):  # type: ignore[no-untyped-def]
    """The sum of exp((values [n] - top) coldness)."""
    total = 0.0
    for part in range(num_parts(values.shape[0])):
        total += total_of_part(values, part, top, coldness)
    return total


@inner(error_model="numpy", fastmath={"reassoc"})
def total_of_part(values, part, top, coldness):  # type: ignore[no-untyped-def]
    """Of one part."""
    long_vectors()
    total, steepness = 0.0, steepness_of(coldness)
    for i in range(part * PART, min((part + 1) * PART, values.shape[0])):
        total += power((np.float64(values[np.uint64(i)]) - top) * steepness)
    return total


@inner(error_model="numpy", fastmath={"reassoc"})
def two_totals_of_part(values, part, top, coldness):  # type: ignore[no-untyped-def]
    """Of one part, and the same at coldness 1."""
    long_vectors()
    total, plain, steepness = 0.0, 0.0, steepness_of(coldness)
    for i in range(part * PART, min((part + 1) * PART, values.shape[0])):
        z = np.float64(values[np.uint64(i)]) - top
        total += power(z * steepness)
        plain += power(z * LOG2_E)
    return total, plain


@inner(error_model="numpy")
def steepness_of(coldness):  # type: ignore[no-untyped-def]
    """A coldness as powers of 2 have it, finite."""
    return min(coldness * LOG2_E, LARGEST)
