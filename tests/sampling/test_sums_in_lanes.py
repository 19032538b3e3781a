"""Sums in the order that is told, to the last bit: lanes by turns, their sums by halves, and what is left over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from truedraw.compiled import compiled
from truedraw.sampling.kernels.edges import mass_from
from truedraw.sampling.kernels.exponential import LOG2_E, exp, power
from truedraw.sampling.kernels.lanes import LANES, summed
from truedraw.sampling.kernels.softmax import weights_into
from truedraw.sampling.kernels.totals import POWERS, SUM, TWO_POWERS

SIZES = (0, 1, 5, 31, 32, 33, 63, 64, 97, 2101)


@compiled()
def sum_of(values, first, stop):
    return SUM((values,), (), (), first, stop)


@compiled()
def weights(values, top, coldness, out):
    return weights_into(values, top, coldness, out)


@compiled()
def weights_alone(values, top, coldness):
    return weights_into(values, top, coldness, ())


@compiled()
def powers(values, top, steepness):
    return POWERS((values,), (top, steepness), (), 0, values.shape[0])


@compiled()
def two_powers(values, top, steepness):
    return TWO_POWERS((values,), (top, steepness), (), 0, values.shape[0])


@compiled()
def one_by_one(values, top, factor, is_power, out):
    for i in range(values.shape[0]):
        x = (np.float64(values[i]) - top) * factor
        out[i] = power(x) if is_power else exp(x)


@compiled()
def from_floor(weights, floor):
    return mass_from(weights, floor)


def in_order(values: Sequence[float]) -> float:
    """The sum, one addition after the other."""
    whole = len(values) // LANES * LANES
    lanes = np.zeros(LANES)
    for first in range(0, whole, LANES):
        lanes = lanes + np.asarray(values[first : first + LANES])
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    total = lanes[0]
    for value in values[whole:]:
        total += value
    return float(total)


def row(size: int, kind: type = np.float32) -> np.ndarray:
    return np.random.default_rng(size).normal(0, 40, size).astype(kind)


@pytest.mark.parametrize("size", SIZES)
def test_a_sum_of_numbers_from_anywhere_to_anywhere(size: int) -> None:
    values = row(size, np.float64)
    assert sum_of(values, 0, size) == in_order(values)
    for first in (1, 3, 40):
        if first <= size:
            assert sum_of(values, first, size) == in_order(values[first:])
            assert sum_of(values, 0, size - first) == in_order(values[: size - first])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES[1:])
def test_weights_are_those_of_single_numbers_and_their_sum_is_in_order(size: int, kind: type) -> None:
    """Written elsewhere, in place, or not at all."""
    values, single, out = row(size, kind), np.empty(size), np.empty(size)
    top, here = float(values.max()), values.astype(np.float64)
    one_by_one(values, top, 0.8, False, single)
    totals = weights(values, top, 0.8, out), weights(here, top, 0.8, here), weights_alone(values, top, 0.8)
    assert out.tobytes() == single.tobytes() == here.tobytes()
    assert set(totals) == {in_order(single)}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES[1:])
def test_sums_of_powers_are_in_order_one_or_two_at_once(size: int, kind: type) -> None:
    values, single, plain = row(size, kind), np.empty(size), np.empty(size)
    top = float(values.max())
    one_by_one(values, top, 0.3, True, single)
    one_by_one(values, top, LOG2_E, True, plain)
    assert powers(values, top, 0.3) == in_order(single)
    assert two_powers(values, top, 0.3) == (in_order(single), in_order(plain))


@pytest.mark.parametrize("size", SIZES)
def test_mass_and_number_from_a_floor_on(size: int) -> None:
    values = np.abs(row(size, np.float64))
    floor = float(np.median(values)) if size else 1.0
    assert from_floor(values, floor) == (in_order(np.where(values >= floor, values, 0.0)), int((values >= floor).sum()))


@pytest.mark.parametrize(
    "values", [np.zeros(8)[::2], np.zeros(8, np.int64), np.zeros((2, 4)), np.zeros(8, np.complex64)]
)
def test_other_arrays_are_refused(values: np.ndarray) -> None:
    with pytest.raises(Exception, match=r"contiguous arrays \[n\] of float32, float64 or uint8 only"):
        sum_of(values, 0, 4)


def test_only_ones_own_doubles_are_written_to() -> None:
    for out in (np.zeros(4, np.float32), np.broadcast_to(np.zeros(4), 4)):
        with pytest.raises(Exception, match="written to float64"):
            weights(np.zeros(4), 0.0, 1.0, out)


def test_nothing_is_written_beyond_the_end_or_read_there() -> None:
    copied = summed(lambda read, _: [read[0] * 2.0])

    @compiled()
    def doubled(values, out, first, stop):
        return copied((values,), (), out, first, stop)

    values, out = np.full(100, np.nan), np.full(100, -1.0)
    values[20:90] = 1.0
    assert doubled(values, out, 20, 90) == 140.0
    assert (out[20:90] == 2.0).all()
    assert (out[:20] == -1.0).all()
    assert (out[90:] == -1.0).all()
