"""Means of what is measured: what loads and warms up is left out, what is held up counts for little, the old fades."""

from __future__ import annotations

import pytest

from truedraw.control.average import FIRST, LARGEST, MEMORY, Average, TwoKinds, warmed
from truedraw.control.pace import Pace
from truedraw.control.slope import Slope
from truedraw.control.upkeep import Upkeep


def mean_of(*values: float) -> Average:
    mean = Average()
    for value in values:
        mean = warmed(mean, value)
    return mean


def test_of_the_first_values_the_least_counts() -> None:
    assert mean_of(9.0, 1.0, 5.0).value == 1.0


@pytest.mark.parametrize("count", [FIRST, 5, 12, MEMORY, 200])
def test_no_value_moves_a_mean_by_more_than_a_tenth(count: int) -> None:
    """The fifth call of a head took ten times as long as the others, and texts were drawn plainly for it."""
    mean = mean_of(*[1.0] * count)
    assert 1.0 < warmed(mean, 1000.0).value <= 1.1


def test_what_is_held_up_now_and_then_is_a_part_of_what_calls_take() -> None:
    mean = mean_of(*[1.0] * 200, *([3.0] + [1.0] * 9) * 30)
    assert mean.value == pytest.approx(1.2, abs=0.1)
    assert mean_of(*[1.0] * 200, *[LARGEST * 9] * 40).value > 3.0


def test_calls_of_a_longer_kind_count_as_often_as_they_come() -> None:
    price = TwoKinds()
    for number in range(400):
        price.add(0.7 if number % 20 == 0 else 0.001, is_longer=number % 20 == 0)
    assert price.value == pytest.approx(0.035, rel=0.5)
    assert mean_of(*([0.7] + [0.001] * 19) * 20).value < 0.01  # as if one in twenty were held up


def test_a_first_call_of_the_longer_kind_may_be_an_accident() -> None:
    """One text in three had been drawn plainly for a first offer that had to be loaded."""
    price = TwoKinds()
    for number in range(12):
        price.add(20.0 if number == 3 else 0.03, is_longer=number == 3)
    assert price.value < 0.05


def test_what_has_faded_gives_way_to_a_few_new_values() -> None:
    old, faded = mean_of(*[2.0] * 100), mean_of(*[2.0] * 100)
    faded.fade(0.1)
    assert faded.value == old.value
    for _ in range(4):
        old, faded = warmed(old, 1.0), warmed(faded, 1.0)
    assert faded.value < 1.6
    assert old.value > 1.8
    faded.fade(0.0)
    assert faded.count == FIRST  # what is known stays known


def test_a_slope_that_has_faded_gives_way_too() -> None:
    old, faded = Slope(), Slope()
    for slope in (old, faded):
        for number in range(100):
            slope.add(number % 3, 2.0 + number % 3)
    faded.fade(0.05)
    assert faded.at(2.0) == pytest.approx(old.at(2.0), rel=0.02)
    for number in range(4):
        old.add(number % 3, 1.0 + (number % 3) / 2)
        faded.add(number % 3, 1.0 + (number % 3) / 2)
    assert faded.at(2.0) < 3.1
    assert old.at(2.0) > 3.6


def test_prices_of_drafting_fade_and_those_of_plain_rounds_do_not() -> None:
    pace, upkeep = Pace(), Upkeep()
    for _ in range(100):
        pace.add(2.0, 2, 2)
        upkeep.add(1, 2, 2.0)
        upkeep.add(1, 0, 2.0)
    pace.fade(0.0)
    upkeep.fade(0.0)
    for _ in range(4):
        pace.add(1.0, 2, 2)
        upkeep.add(1, 2, 1.0)
        upkeep.add(1, 0, 1.0)
    assert pace.tree(2, 2) < 1.5
    assert upkeep.seconds(1, 2) < 1.5
    assert upkeep.seconds(1, 0) > 1.8
