"""The real randomness: the race is an exact function of named noise, its law is right, and names do not clash."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from truedraw.errors import BadParameter
from truedraw.protocol import Purpose
from truedraw.sampling.philox import block
from truedraw.sampling.race import race
from truedraw.sampling.randomness import PhiloxRandomness, check_seed, fresh_seed

TRIALS = 20_000
LATER = 1 << 31
ALPHA = 1e-4  # seeds are fixed: a p-value here is one number, looked at once


def reference_clocks(size: int, counter: tuple[int, int, int], key: tuple[int, int]) -> np.ndarray:
    """Every E_i, from the words that the layout names: the first arrival at the place of i."""
    clocks = np.full(-(-size // 2048) * 2048, np.inf)
    for span in range(clocks.size // 32):
        own = clocks[2048 * (span // 64) + span % 64 :][: 31 * 64 + 1 : 64]
        time, arrival = 0.0, 0
        while np.isinf(own).any():
            words = noise(span + (arrival // 2 << 18), counter, key, LATER)[2 * (arrival % 2) :]
            if arrival == 0:
                words[0] = noise(16 * (span // 64) + span % 16, counter, key)[span % 64 // 16]
            time += -math.log1p(-(words[0] + (words[1] // 32 + 0.5) * 2.0**-27) * 2.0**-32) / 32
            own[words[1] % 32] = min(own[words[1] % 32], time)
            arrival += 1
    return clocks[:size]


def noise(place: int, counter: tuple[int, int, int], key: tuple[int, int], flag: int = 0) -> list[int]:
    """The four words of a block."""
    words = np.array([place, *counter[:2], counter[2] | flag], np.uint64)
    return [int(word) for word in block(words, np.array(key, np.uint64))]


def reference_race(weights: np.ndarray, counter: tuple[int, int, int], key: tuple[int, int]) -> int:
    """argmin E_i / w_i with every clock computed."""
    clocks = reference_clocks(weights.size, counter, key)
    return int(np.argmin(np.divide(clocks, weights, where=weights > 0, out=np.full(weights.size, np.inf))))


@pytest.mark.parametrize("size", [1, 2, 5, 4096, 5001, 7777])
@pytest.mark.parametrize("sparse", [0.0, 0.9])
def test_the_race_finds_the_first_clock_to_ring(size: int, sparse: float) -> None:
    rng = np.random.default_rng(size)
    for position in range(5):
        weights = rng.dirichlet(np.full(size, 0.1)) * (rng.random(size) >= sparse)
        weights[rng.integers(size)] += 1e-9
        counter = np.array([0, position, 3, 1], dtype=np.uint64)
        expected = reference_race(weights, (position, 3, 1), (11, 12))
        assert race(weights, counter, np.array([11, 12], dtype=np.uint64)) == expected


@pytest.mark.parametrize("exponent", [-1000, -500, 500, 900, 1017])
def test_a_common_factor_changes_nothing(exponent) -> None:
    """Up to weights whose sum is infinite."""
    rng = np.random.default_rng(1)
    key = np.array([11, 12], dtype=np.uint64)
    for position in range(20):
        weights = rng.integers(0, 64, 3000).astype(np.float64)
        counter = np.array([0, position, 3, 1], dtype=np.uint64)
        assert race(np.ldexp(weights, exponent), counter, key) == race(weights, counter, key)


def test_one_possible_index_among_many_is_found() -> None:
    for place in (0, 63, 64, 2047, 2048, 99_999):
        weights = np.zeros(100_000)
        weights[place] = 1e-300
        draw = PhiloxRandomness(2)
        assert {draw.choose(weights, Purpose.TARGET, position) for position in range(20)} == {place}


def test_the_clocks_are_independent_and_exponential() -> None:
    """Neighbours in the vocabulary, the places of a span (64 apart), and the same index at two positions."""
    clocks = np.array([reference_clocks(2048 + 200, (position, 0, 0), (3, 4)) for position in range(20)])
    assert stats.kstest(clocks.ravel(), "expon").pvalue > ALPHA
    assert stats.kstest(clocks[:, :2048:64].min(axis=1) * 32, "expon").pvalue > ALPHA
    uniform = -np.expm1(-clocks)
    for one, other in (
        (uniform[:, :-1], uniform[:, 1:]),
        (uniform[:, :-64], uniform[:, 64:]),
        (uniform[:-1], uniform[1:]),
    ):
        table = np.histogram2d(one.ravel(), other.ravel(), bins=6, range=((0, 1), (0, 1)))[0]
        assert stats.chi2_contingency(table).pvalue > ALPHA


def test_no_positive_weight_is_an_error_and_a_zero_is_never_drawn() -> None:
    draw = PhiloxRandomness(1)
    with pytest.raises(ValueError, match="no weight is positive"):
        draw.choose(np.zeros(7), Purpose.TARGET, 0)
    weights = np.array([0.0, 1e-30, 0.0])
    assert {draw.choose(weights, Purpose.TARGET, position) for position in range(200)} == {1}


def test_frequencies_follow_the_weights() -> None:
    weights = np.array([0.4, 0.3, 0.0, 0.2, 0.07, 0.03])
    draw = PhiloxRandomness(20260101)
    counts = np.bincount([draw.choose(weights, Purpose.TARGET, t) for t in range(TRIALS)], minlength=6)
    assert counts[2] == 0
    live = weights > 0
    assert stats.chisquare(counts[live], weights[live] * TRIALS).pvalue > ALPHA


def test_coins_fall_with_probability_p_over_q() -> None:
    draw = PhiloxRandomness(3)
    heads = sum(draw.accept(0.2, 0.5, Purpose.ACCEPT, t) for t in range(TRIALS))
    assert stats.binomtest(heads, TRIALS, 0.4).pvalue > ALPHA
    assert all(draw.accept(0.7, 0.7, Purpose.ACCEPT, t) for t in range(200))
    assert not any(draw.accept(0.0, 0.5, Purpose.ACCEPT, t) for t in range(200))


@pytest.mark.parametrize("change", ["seed", "sample", "position", "purpose", "node"])
def test_draws_with_different_names_are_independent(change: str) -> None:
    weights = np.full(8, 1 / 8)
    table = np.zeros((8, 8))
    for t in range(TRIALS // 4):
        first = PhiloxRandomness(5, 0).choose(weights, Purpose.TARGET, t, 0)
        names = {"seed": 5, "sample": 0, "position": t, "purpose": Purpose.TARGET, "node": 0}
        names[change] = Purpose.DRAFT if change == "purpose" else names[change] + TRIALS
        other = PhiloxRandomness(names["seed"], names["sample"])
        table[first, other.choose(weights, names["purpose"], names["position"], names["node"])] += 1
    assert stats.chi2_contingency(table).pvalue > ALPHA


def test_the_same_name_is_the_same_draw_in_any_order() -> None:
    weights = np.random.default_rng(0).dirichlet(np.full(1000, 0.3))
    forward = [PhiloxRandomness(9, 2).choose(weights, Purpose.TARGET, t) for t in range(50)]
    draw = PhiloxRandomness(9, 2)
    assert [draw.choose(weights, Purpose.TARGET, t) for t in reversed(range(50))] == forward[::-1]


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, "1", True])
def test_a_bad_seed_is_refused(seed) -> None:
    with pytest.raises(BadParameter, match="seed"):
        check_seed(seed)


def test_fresh_seeds_are_valid_and_differ() -> None:
    seeds = {fresh_seed() for _ in range(50)}
    assert len(seeds) == 50
    for seed in seeds:
        check_seed(seed)
