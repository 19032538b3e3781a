"""A law over few tokens: what it says, and draws from it that are those from the whole row, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from enumeration import law_of
from truedraw.draft.chances import OwnChance
from truedraw.draft.staged_chance import StagedChance
from truedraw.protocol import Purpose, SparseLaw
from truedraw.sampling.randomness import PhiloxRandomness, choose_sparse

LARGE = 49_152
DRAWS = 400


def random_law(rng, vocab: int, support: int, zeros: float = 0.0, alpha: float = 0.1) -> SparseLaw:
    tokens = np.sort(rng.choice(vocab, support, replace=False))
    weights = rng.dirichlet(np.full(support, alpha)) * (rng.random(support) >= zeros)
    weights[rng.integers(support)] += 1e-9
    return SparseLaw(tokens, weights / weights.sum(), vocab)


def test_it_says_what_its_vector_says() -> None:
    law = SparseLaw(np.array([1, 4, 6]), np.array([0.5, 0.0, 0.5]), 8)
    assert law.dense().tolist() == [0, 0.5, 0, 0, 0, 0, 0.5, 0]
    assert [law[token] for token in range(8)] == law.dense().tolist()
    assert list(law) == law.dense().tolist()  # type: ignore[call-overload]
    for token in (-1, 8):
        with pytest.raises(IndexError, match=f"token {token}; .* 0 to 7"):
            law[token]


@pytest.mark.parametrize(("vocab", "support"), [
    (1, 1), (2, 2), (7, 3), (31, 31), (2048, 5), (2049, 2049), (5001, 900), (LARGE, 1), (LARGE, 2), (LARGE, 300),
    (LARGE, 8192),
])  # fmt: skip
@pytest.mark.parametrize("zeros", [0.0, 0.6])
@pytest.mark.parametrize("alpha", [0.02, 1.0])
def test_the_winner_is_that_of_the_whole_row(vocab: int, support: int, zeros: float, alpha: float) -> None:
    rng = np.random.default_rng(vocab + support)
    for position in range(DRAWS if support < 1000 else DRAWS // 4):
        law, chance = random_law(rng, vocab, support, zeros, alpha), PhiloxRandomness(2**63 + 5, position % 3)
        for name in ((Purpose.DRAFT, position, 5), (Purpose.TARGET, position)):
            assert choose_sparse(chance, law, *name) == chance.choose(law.dense(), *name)


def test_two_laws_over_one_noise_meet_as_often_as_their_vectors_do() -> None:
    """What coupling lives on: a law over few tokens and one over all, drawn with the same noise."""
    rng = np.random.default_rng(9)
    whole = rng.dirichlet(np.full(LARGE, 0.01))
    likely = np.sort(np.argsort(-whole)[:500])
    law = SparseLaw(likely, whole[likely] / whole[likely].sum(), LARGE)
    met = 0
    for position in range(DRAWS):
        name = Purpose.TARGET, position
        other, own = PhiloxRandomness(3).choose(whole, *name), choose_sparse(PhiloxRandomness(3), law, *name)
        assert own == PhiloxRandomness(3).choose(law.dense(), *name)
        assert own == other or law[other] == 0  # the first clock to ring is the same, unless it is not in the race
        met += own == other
    assert met > DRAWS / 2


def test_weights_next_to_nothing_and_equal_ones() -> None:
    tokens = np.array([3, 40, 41, 2100])
    for weights in ([5e-324] * 4, [1e-308, 0.0, 5e-324, 0.0], [0.25] * 4, [1e308] * 4):
        law = SparseLaw(tokens, np.array(weights), 4096)
        for position in range(50):
            chance, name = PhiloxRandomness(1), (Purpose.DRAFT, position)
            assert choose_sparse(chance, law, *name) == chance.choose(law.dense(), *name)


@pytest.mark.parametrize(("tokens", "weights"), [([2], [0.0]), ([2, 3], [0.0, 0.0]), ([], [])])
def test_where_nothing_can_come_it_says_so(tokens, weights) -> None:
    law = SparseLaw(np.array(tokens, np.int64), np.array(weights, np.float64), 8)
    with pytest.raises(ValueError, match="nothing to choose from"):
        choose_sparse(PhiloxRandomness(0), law, Purpose.DRAFT, 0)


def test_other_randomness_is_given_the_whole_row() -> None:
    law = SparseLaw(np.array([1, 4]), np.array([0.25, 0.75]), 6)
    found = law_of(lambda walker: choose_sparse(walker.sample(0), law, Purpose.DRAFT, 3))
    assert found == {1: 0.25, 4: 0.75}


def test_the_chance_of_one_of_many_drafters_draws_the_same() -> None:
    law, outer = random_law(np.random.default_rng(4), LARGE, 300), PhiloxRandomness(8)
    for position in range(100):
        for make in (lambda: OwnChance(outer, 2, 3), lambda: StagedChance(OwnChance(outer, 0, 2), 7)):
            for purpose in (Purpose.DRAFT, Purpose.TARGET, Purpose.RESIDUAL):
                name = purpose, position, 4
                assert choose_sparse(make(), law, *name) == make().choose(law.dense(), *name)


def test_a_staged_draw_takes_a_number_in_either_form() -> None:
    """Otherwise the draws after it would have other names."""
    law = random_law(np.random.default_rng(6), 50, 20)
    drawn = []
    for form in (choose_sparse, lambda chance, law, *name: chance.choose(law.dense(), *name)):
        chance = StagedChance(PhiloxRandomness(8), 7)
        drawn.append([form(chance, law, Purpose.DRAFT, 9, node) for node in (0, 1, 0)])
        drawn[-1].append(chance.choose(np.full(5000, 1.0), Purpose.RESIDUAL, 9, 0))
    assert drawn[0] == drawn[1]
