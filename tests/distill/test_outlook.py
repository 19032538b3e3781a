"""An extrapolation against laws that are known, and pages and cards that carry it."""

import numpy as np
import pytest

from truedraw.distill.history import MOST_LOOKS, thinned
from truedraw.distill.outlook import fitted, late, outlook
from truedraw.distill.outlook_page import outlook_html, sentence

TOKENS = np.linspace(0, 1_000_000, 41)


def looks_of(noise=0.0, seed=0):
    """What is missing falls as n^-0.1 behind the first, at which nothing was trained yet."""
    chance = np.random.default_rng(seed)
    found = []
    for tokens in TOKENS:
        missing = 2 * max(tokens, 1) ** -0.1 * np.exp(chance.normal(0, noise, 5) if noise else np.zeros(5))
        acceptance = [1 - each for each in missing[:4]]
        found.append({"tokens": int(tokens), "acceptance": acceptance, "tokens_a_round": 5 - 4 * missing[4]})
    return found


def test_a_power_law_is_found_again():
    found = outlook(looks_of())
    missing = 2 * 10_000_000**-0.1
    assert (found["tokens"], found["times"]) == (10_000_000, 10)
    for each in found["acceptance"]:
        assert each == {"expected": pytest.approx(1 - missing, abs=1e-4), "low": each["expected"],
                        "high": each["expected"]}  # fmt: skip
    assert found["tokens_a_round"]["expected"] == pytest.approx(5 - 4 * missing, abs=1e-4)


def test_only_the_last_factor_of_ten_counts():
    some = late(looks_of())
    assert some[0]["tokens"] == 100_000
    assert len(some) == 37
    assert len(late([*looks_of(), looks_of()[-1]])) == 37  # a run that went on looks twice at one place


def test_its_interval_holds_what_comes_in_nearly_all_cases():
    missing, inside = 2 * 10_000_000**-0.1, 0
    for seed in range(200):
        found = outlook(looks_of(noise=0.02, seed=seed))["acceptance"][0]
        comes = 1 - missing * np.exp(np.random.default_rng(seed + 999).normal(0, 0.02))
        inside += found["low"] <= comes <= found["high"]
    assert 180 <= inside <= 199


def test_an_interval_is_the_wider_the_farther():
    line = fitted([1e5, 2e5, 4e5, 8e5], [0.6, 0.57, 0.55, 0.52])
    near, far = line.missing(1e6), line.missing(1e7)
    assert far[0] < near[0]
    assert far[2] / far[1] > near[2] / near[1] > 1


def test_nothing_is_said_of_few_looks():
    assert outlook([]) is None
    assert outlook(looks_of()[:5]) is None
    assert outlook_html(looks_of()[:5], None) == ""


def test_values_stay_what_they_can_be():
    """A head that gets worse, and one of which nothing is missing."""
    worse = [{"tokens": 1000 * i, "acceptance": [0.5 / i] * 4, "tokens_a_round": 1 + 0.5 / i} for i in range(1, 9)]
    found = outlook(worse)
    assert 0 <= found["acceptance"][0]["low"] <= found["acceptance"][0]["high"] <= 1
    assert 1 <= found["tokens_a_round"]["low"] <= found["tokens_a_round"]["high"] <= 5
    perfect = [{"tokens": 1000 * i, "acceptance": [1.0] * 4, "tokens_a_round": 5.0} for i in range(1, 9)]
    assert outlook(perfect)["acceptance"][0]["expected"] == 1


def test_people_are_told_that_it_is_an_extrapolation():
    looks = looks_of(noise=0.01)
    found = outlook(looks)
    assert "Extrapolated, not measured: at 10,000,000 tokens" in sentence(found)
    page = outlook_html(looks, found)
    assert page.count("<svg viewBox") == 1
    assert "high end" in page


def test_a_card_holds_few_looks():
    looks = [{"tokens": i} for i in range(100)]
    found = thinned(looks)
    assert len(found) == MOST_LOOKS
    assert (found[0], found[-1]) == (looks[0], looks[-1])
    assert thinned(looks[:7]) == looks[:7]
