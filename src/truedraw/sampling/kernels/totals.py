"""Sums: of numbers, and of a row's weights, to 1e-14, of one part after the other: the same numbers, whoever takes
which part."""

from __future__ import annotations

from truedraw.compiled import apart, inner
from truedraw.sampling.kernels.exponential import LOG2_E, power_of
from truedraw.sampling.kernels.lanes import summed
from truedraw.sampling.kernels.spans import TILE

PART = 4 * TILE
SUM = summed(lambda row, _: row)
POWERS = summed(lambda row, of: [power_of((row[0] - of[0]) * of[1])])
"""Of values, the largest one and a steepness; the same at coldness 1 as well."""
TWO_POWERS = summed(lambda row, of: [power_of((row[0] - of[0]) * each) for each in (of[1], LOG2_E)], terms=2)


@inner(error_model="numpy")
def total_of(values):  # type: ignore[no-untyped-def]
    """The sum of values [n] of float64."""
    return SUM((values,), (), (), 0, values.shape[0])


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


@apart(error_model="numpy")
def total_of_part(values, part, top, coldness):  # type: ignore[no-untyped-def]
    """Of one part."""
    return POWERS((values,), (top, coldness * LOG2_E), (), part * PART, end_of(values, part))


@apart(error_model="numpy")
def two_totals_of_part(values, part, top, coldness):  # type: ignore[no-untyped-def]
    """Of one part, and the same at coldness 1."""
    return TWO_POWERS((values,), (top, coldness * LOG2_E), (), part * PART, end_of(values, part))


@inner(error_model="numpy")
def end_of(values, part):  # type: ignore[no-untyped-def]
    """Where a part ends."""
    return min((part + 1) * PART, values.shape[0])
