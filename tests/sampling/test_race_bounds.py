"""What lets a race look at few logits: bounds that never exceed what they bound, and words of bits."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from from_python import from_python
from truedraw.protocol import Purpose
from truedraw.sampling.drawing import RowDraws
from truedraw.sampling.kernels.clocks import gap, gap_above
from truedraw.sampling.kernels.spans import below, largest, maxima, num_spans
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.race import race
from truedraw.sampling.randomness import PhiloxRandomness

HIGHEST = float(np.finfo(np.float32).max)
_maxima, _largest, _num_spans = from_python(maxima), from_python(largest), from_python(num_spans)


@numba.njit
def gaps(coarse, fine):
    """(the bound, the time itself) of arrivals with these words of noise."""
    found = np.empty((2, coarse.size))
    for k in range(coarse.size):
        low = coarse[k] * (2.0**-32 / 32)
        found[0, k], found[1, k] = gap_above(low), gap(low, fine)
    return found


@pytest.mark.parametrize("fine", [0, 2**32 - 1])
def test_a_time_is_never_before_its_bound(fine: int) -> None:
    ends = [0, 1, 2, 2**31, 2**32 - 2, 2**32 - 1]
    coarse = np.concatenate([ends, np.random.default_rng(1).integers(0, 2**32, 20_000)]).astype(np.float64)
    bound, time = gaps(coarse, np.uint64(fine))
    assert (bound <= time * (1 + 1e-14)).all()
    assert (bound >= coarse * (2.0**-32 / 32)).all()
    small = coarse < 2**31
    assert (bound[small] >= 0.96 * (time[small] - 2.0**-37)).all()


@pytest.mark.parametrize("bound", [-1.0, 0.0, 0.3, 2.0, np.inf])
@pytest.mark.parametrize("first", [0, 64, 192])
def test_the_values_below_a_bound_as_bits(bound: float, first: int) -> None:
    values = np.random.default_rng(2).choice([0.0, 0.3, 0.30001, 1.0, np.nan, -np.inf], 256)
    word = int(numba.njit(below.py_func)(values, first, bound))
    assert [word >> c & 1 for c in range(64)] == (values[first : first + 64] < bound).tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 64, 2047, 2048, 6000])
def test_the_largest_of_spans_that_hold_the_ends_of_the_range(size: int, kind) -> None:
    """Sums of these are infinite or no number, and yet none of them is NaN."""
    values = np.random.default_rng(size).choice([-np.inf, -HIGHEST, HIGHEST, 1.0], size).astype(kind)
    tops = np.empty(_num_spans(size), kind)
    assert not _maxima(values, values.size, -np.inf, tops)
    tiles = np.full(tops.size * 32, -np.inf, kind)
    tiles[:size] = values
    assert (tops == tiles.reshape(-1, 32, 64).max(axis=1).ravel()).all()
    assert _largest(tops) == values.max()
    values[size // 2] = np.nan
    assert _maxima(values, values.size, -np.inf, tops)


@pytest.mark.parametrize("heavy", [1, 2, 7, 40])
def test_rows_whose_mass_is_on_few_tokens_are_read_far_into_their_spans(heavy: int) -> None:
    """A token with nearly all mass rings about as often as its span's other places together, so many come first."""
    rng, size, batch = np.random.default_rng(heavy), 5000, 200
    logits = rng.normal(0, 1, (batch, size)).astype(np.float32)
    for row in logits:
        row[rng.choice(size, heavy, replace=False)] += rng.uniform(8, 25, heavy).astype(np.float32)
    law, draws, name = SamplingLaw(SamplingParams(temperature=0.7)), RowDraws(), (Purpose.TARGET, 2, 0)
    samples = [PhiloxRandomness(4, sample) for sample in range(batch)]
    tokens = [draws.draw(law, row, sample, *name).token for row, sample in zip(logits, samples, strict=True)]
    weights = np.exp((logits.astype(np.float64) - logits.max(axis=1, keepdims=True)) / 0.7)
    each = zip(weights, samples, strict=True)
    assert tokens == [race(row, sample.counter(*name), sample.key) for row, sample in each]
