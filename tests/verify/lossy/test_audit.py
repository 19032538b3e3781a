"""The bound of what was skipped: hardly ever too low, and not far too high."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.verify.lossy.audit import DELTA, STAKES, AuditedSum

RATE = 0.2
STREAMS = {
    "constant": lambda rng, n: np.full(n, 0.05),
    "rare and large": lambda rng, n: (rng.random(n) < 0.03).astype(float),
    "growing": lambda rng, n: np.linspace(0, 0.4, n),
    "first nothing, then everything": lambda rng, n: (np.arange(n) > n // 2).astype(float),
    "random": lambda rng, n: rng.beta(0.3, 3, n),
}


def too_low(divergences, rng, reading) -> bool:
    """Whether `reading` of the sum so far ever falls below the truth."""
    audited, truth = AuditedSum(RATE), 0.0
    for d in divergences:
        truth += d
        if rng.random() < RATE:
            audited.looked(d)
        else:
            audited.skipped()
        if reading(audited) < truth - 1e-9:
            return True
    return False


@pytest.mark.parametrize("name", STREAMS)
def test_the_bound_holds_at_all_times(name: str) -> None:
    rng = np.random.default_rng(3)
    misses = sum(too_low(STREAMS[name](rng, 200), rng, lambda audited: audited.bound) for _ in range(150))
    assert misses <= 150 * DELTA


def test_without_its_margin_it_would_not_hold() -> None:
    rng = np.random.default_rng(4)
    assert sum(too_low(np.full(200, 0.05), rng, lambda audited: audited.estimate) for _ in range(50)) > 40


def test_the_wealth_is_a_supermartingale_for_every_stake() -> None:
    """E[(1 - s Y) exp(s rho d)] <= 1 for a coin of probability rho."""
    for stake in STAKES:
        for rate in (0.01, 0.3, 1.0):
            for d in np.linspace(0, 1, 21):
                mean = (rate * (1 - stake * d) + 1 - rate) * np.exp(stake * rate * d)
                assert mean <= 1 + 1e-12


class Wealth:
    """L of every stake, multiplied as its definition says."""

    def __init__(self) -> None:
        self.each = np.ones(len(STAKES))

    def place(self, divergence: float, seen: bool) -> None:
        stakes = np.array(STAKES)
        self.each *= (1 - stakes * divergence * seen) * np.exp(stakes * RATE * divergence)


@pytest.mark.parametrize("luck", [0.0, 0.02, RATE, 0.6])
@pytest.mark.parametrize("name", STREAMS)
def test_a_bound_below_the_truth_is_a_mean_wealth_above_one_over_delta(name: str, luck: float) -> None:
    """The algebra between the two: by Ville's inequality such a wealth is as rare as DELTA. No chance is needed here.

    A share `luck` of the places is seen, so that some truths stay hidden for longer than an honest coin would let them.
    """
    rng = np.random.default_rng(6)
    divergences = np.tile(STREAMS[name](rng, 200), 20)
    audited, wealth, truth, below = AuditedSum(RATE), Wealth(), 0.0, 0
    for d in divergences:
        seen = bool(rng.random() < luck)
        audited.looked(d) if seen else audited.skipped()
        wealth.place(d, seen)
        truth += d
        if audited.bound < truth:
            below += 1
            assert wealth.each.mean() > 1 / DELTA
    assert below > 0 or luck > 0


def test_the_bound_is_where_one_stake_alone_has_all_the_wealth_that_is_allowed() -> None:
    """Each of the stakes starts with its share of 1, and is counted as if the others had nothing."""
    audited, wealth = AuditedSum(RATE), Wealth()
    for place in range(300):
        audited.looked(0.3) if place % 5 == 0 else audited.skipped()
        wealth.place(0.3, place % 5 == 0)
    more = (audited.bound - 300 * 0.3) * RATE * np.array(STAKES)  # as if the truth were the bound
    assert audited.bound < audited.places
    assert (wealth.each * np.exp(more)).max() / len(STAKES) == pytest.approx(1 / DELTA)


def test_the_bound_closes_in_on_the_mean() -> None:
    rng = np.random.default_rng(5)
    widths = []
    for count in (2_000, 40_000):
        audited = AuditedSum(RATE)
        for look in rng.random(count) < RATE:
            audited.looked(0.02) if look else audited.skipped()
        assert audited.estimate / count == pytest.approx(0.02, rel=0.2)
        widths.append(audited.bound / count - 0.02)
    assert 0 < widths[1] < widths[0] < 0.02
    assert widths[1] < 0.003


def test_where_nothing_is_ever_found_the_bound_falls_like_one_over_n() -> None:
    audited = AuditedSum(1.0)
    for _ in range(1_000):
        audited.looked(0.0)
    assert audited.bound / 1_000 < 0.007


def test_no_sum_is_larger_than_its_places_and_rounding_does_no_harm() -> None:
    audited = AuditedSum(0.5)
    assert audited.bound == 0
    audited.looked(1 + 1e-16)
    audited.looked(-1e-17)
    audited.skipped()
    assert (audited.bound, audited.places, audited.audited) == (3, 3, 2)
