"""A race among few listed tokens has the winner of one over the whole row, in which all others weigh nothing."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.sampling.race import race, race_few

KEY = np.array([3, 4], np.uint64)
SIZES = (1, 2, 63, 64, 65, 127, 128, 129, 1000, 5000)
VOCAB = 6000


def name(number: int) -> np.ndarray:
    return np.array([0, number, 2, 1], np.uint64)


def both(tokens: np.ndarray, weights: np.ndarray, number: int) -> tuple[int, int]:
    whole = np.zeros(VOCAB)
    whole[tokens] = weights
    return race_few(tokens, weights, VOCAB, name(number), KEY), race(whole, name(number), KEY)


@pytest.mark.parametrize("kind", ["flat", "peaked", "sparse", "tiny"])
@pytest.mark.parametrize("size", SIZES)
def test_the_winner_is_that_of_the_whole_row(size: int, kind: str) -> None:
    rng = np.random.default_rng(size)
    winners = set()
    for number in range(200):
        tokens = np.sort(rng.choice(VOCAB, size, replace=False)).astype(np.int64)
        weights = {"flat": np.full(size, 0.25), "peaked": np.exp(rng.normal(0, 6, size)),
                   "sparse": np.where(rng.random(size) < 0.05, rng.random(size), 0.0),
                   "tiny": rng.random(size) * 1e-300}[kind]  # fmt: skip
        few, whole = both(tokens, weights, number)
        assert few == whole
        winners.add(few)
    assert len(winners) > 1


def test_every_place_can_win() -> None:
    """Also the last ones, of which there are no whole sixty-four."""
    tokens = np.arange(0, 2 * 70, 2)
    assert {both(tokens, np.ones(70), number)[0] for number in range(2000)} == set(tokens.tolist())


@pytest.mark.parametrize("weights", [[], [0.0], [0.0] * 70, [np.nan], [-1.0, 0.0]])
def test_nothing_to_draw_from(weights: list[float]) -> None:
    assert race_few(np.arange(len(weights)), np.array(weights), VOCAB, name(1), KEY) == -1


def test_one_that_weighs_something() -> None:
    for place in (0, 63, 64, 99):
        weights = np.zeros(100)
        weights[place] = 1e-12
        assert race_few(np.arange(100), weights, VOCAB, name(place), KEY) == place
