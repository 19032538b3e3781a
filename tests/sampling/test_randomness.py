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
ALPHA = 1e-4  # seeds are fixed: a p-value here is one number, looked at once


def reference_race(weights: np.ndarray, counter: tuple[int, int, int], key: tuple[int, int]) -> int:
    """argmin E_i / w_i with every clock computed."""
    times = {}
    for i, weight in enumerate(weights.tolist()):
        if weight > 0:
            place, lane = 512 * (i // 2048) + i % 512, i % 2048 // 512
            words = [
                block(np.array([place, *counter[:2], counter[2] | flag], np.uint64), np.array(key, np.uint64))
                for flag in (0, 1 << 31)
            ]
            t = (words[0][lane] + (words[1][lane] + 0.5) * 2.0**-32) * 2.0**-32
            times[i] = -math.log1p(-t) / weight
    return min(times, key=lambda i: (times[i], i))


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
