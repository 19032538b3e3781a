"""Pearson's test with cells put together: its level and its power, over many draws of known laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from testing.drafter_mutants import bent
from truedraw.testing import goodness
from truedraw.testing.goodness import AT_ONCE, FEWEST, LEVEL, POWER, SUSPICIOUS, Drawn, p_value, placed, visible
from truedraw.testing.tables import random_row

LAW = np.array(random_row(np.random.default_rng(1), 40, 0.0))
COUNT = 4000


def drawn(law, seed, count=COUNT, said=LAW) -> Drawn:
    return Drawn(said, np.random.default_rng(seed).multinomial(count, law))


def test_cells_are_likely_tokens_alone_and_the_others_together() -> None:
    law = np.array([0.002, 0.5, 0.003, 0.3, 0.0, 0.195])
    chances, counts = Drawn(law, np.array([3, 500, 2, 300, 0, 195])).cells()
    assert chances.tolist() == pytest.approx([0.5, 0.3, 0.2])
    assert counts.tolist() == [500, 300, 200]


@pytest.mark.parametrize("count", [0, 5, 19, 20, 300, 4000])
def test_no_cell_expects_too_few(count) -> None:
    found = drawn(LAW, 2, count)
    chances, counts = found.cells()
    assert len(chances) == 1 or (chances * count >= FEWEST * (1 - 1e-9)).all()
    assert chances.sum() == pytest.approx(1.0)
    assert counts.sum() == count


def test_p_values_of_draws_from_the_law_are_uniform() -> None:
    found = np.sort([p_value([drawn(LAW, seed)]) for seed in range(400)])
    assert np.abs(found - (np.arange(400) + 0.5) / 400).max() < 0.08  # Kolmogorov at 0.01


def test_the_stated_power() -> None:
    """At the distance that is said to be seen nearly all are seen, at a third of it hardly any."""
    distance = visible(COUNT, len(drawn(LAW, 0).cells()[0]))
    assert np.abs(bent(LAW, distance) - LAW).sum() / 2 == pytest.approx(distance)
    seen = [p_value([drawn(bent(LAW, distance), seed)]) <= LEVEL for seed in range(20)]
    assert np.mean(seen) >= POWER - 0.05
    assert not any(p_value([drawn(bent(LAW, distance / 3), seed)]) <= LEVEL for seed in range(20))


@pytest.mark.parametrize(("draws", "cells"), [(400, 2), (4000, 7), (10**6, 50)])
def test_what_is_visible_moves_the_statistic_just_far_enough(draws, cells) -> None:
    moved = 4 * draws * visible(draws, cells) ** 2
    assert ncx2.sf(chi2.isf(LEVEL, cells - 1), cells - 1, moved) == pytest.approx(POWER)


def test_what_no_simulation_reaches_still_has_a_chance(monkeypatch) -> None:
    monkeypatch.setattr(goodness, "SIMULATED", 2 * AT_ONCE)
    cells = [(np.array([0.5, 0.5]), np.array([30.0, 10.0]))]
    assert goodness._counted_out(cells, 1e3, np.random.default_rng(0)) == 1 / (1 + 2 * AT_ONCE)


def test_many_small_groups_are_seen_together() -> None:
    """Laws that differ, with some forty draws each: none of them says enough alone."""
    rng = np.random.default_rng(3)
    laws = [np.array(random_row(rng, 40, 0.0)) for _ in range(40)]
    wrong = [drawn(bent(law, 0.25), seed, 40, law) for seed, law in enumerate(laws)]
    assert p_value(wrong) <= LEVEL < min(p_value([each]) for each in wrong)
    assert p_value([drawn(law, seed, 40, law) for seed, law in enumerate(laws)]) > 0.01


def test_a_token_that_the_law_excludes_is_enough() -> None:
    assert p_value([Drawn(np.array([0.5, 0.5, 0.0]), np.array([2000, 1999, 1]))]) == 0.0


def once_each(bend: float) -> list[Drawn]:
    """Of 2000 laws one draw each, from a law so far away."""
    rng = np.random.default_rng(5)
    laws = [np.array(random_row(rng, 12, 0.0)) for _ in range(2000)]
    return [drawn(bent(law, bend), seed, 1, law) for seed, law in enumerate(laws)]


def test_draws_of_laws_that_come_once_are_judged_by_where_they_fall() -> None:
    assert p_value(once_each(0.3)) == 1.0
    assert p_value([placed(once_each(0.3))]) <= LEVEL
    assert p_value([placed(once_each(0.0))]) > 0.01


def test_where_draws_fall_is_uniform() -> None:
    found = np.sort([p_value([placed([drawn(LAW, seed, 500)], seed)]) for seed in range(400)])
    assert np.abs(found - (np.arange(400) + 0.5) / 400).max() < 0.08  # Kolmogorov at 0.01


def test_few_draws_say_nothing() -> None:
    assert p_value([drawn(LAW, 4, 5)]) == 1.0
    assert p_value([]) == 1.0


def test_doubtful_p_values_are_counted_out() -> None:
    """Not chi-square's own value, but near it."""
    found = p_value([drawn(bent(LAW, 0.06), 2)])
    assert SUSPICIOUS / 10 < found < SUSPICIOUS
    chances, counts = drawn(bent(LAW, 0.06), 2).cells()
    expected = chances * COUNT
    by_chi_square = chi2.sf(((counts - expected) ** 2 / expected).sum(), len(chances) - 1)
    assert found != by_chi_square
    assert found == pytest.approx(by_chi_square, rel=0.5)


def test_what_is_seen_shrinks_with_the_root_of_the_draws() -> None:
    assert visible(4 * COUNT, 40) == pytest.approx(visible(COUNT, 40) / 2)
    assert visible(COUNT, 10) < visible(COUNT, 40)
    assert visible(COUNT, 1) == 1.0
