import numpy as np
import pytest

from truedraw.bench.bootstrap import Interval, median_interval
from truedraw.cli.tuned import ALL


def test_the_median_and_an_interval_around_it():
    found = median_interval([3.0, 1.0, 2.0, 5.0, 4.0])
    assert found.median == 3.0
    assert 1.0 <= found.low < 3.0 < found.high <= 5.0


def test_equal_values_leave_nothing_open():
    assert median_interval([1.5] * 7) == Interval(1.5, 1.5, 1.5)


def test_one_value_says_nothing_of_its_spread():
    assert median_interval([2.0]).to_dict() == {"median": 2.0, "low": None, "high": None}


def test_two_values_have_the_interval_that_can_be_written_down():
    # The resampled median is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4: both tails hold more than 2.5 %.
    assert median_interval([0.0, 1.0]) == Interval(0.5, 0.0, 1.0)


def test_it_is_repeatable_and_depends_on_the_values_alone():
    values = [0.9, 1.1, 1.3, 0.8, 1.05, 1.2]
    assert median_interval(values) == median_interval(values)


@pytest.mark.parametrize("count", [8, 9, 40])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(count):
    """Of 200 samples of a known law at 95 %, coverage below 178 has a probability under 1e-4 if it is 95 %."""
    random = np.random.default_rng(count)
    held = 0
    for _ in range(200):
        found = median_interval(random.normal(loc=1.0, size=count).tolist())
        held += found.low <= 1.0 <= found.high
    assert held >= 178


def test_the_words_know_from_how_many_prompts_on_it_does():
    """Of seven values it runs from the second to the last but one: 112 of 128 cases."""
    found = median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert (found.low, found.high) == (2.0, 6.0)
    assert "fewer than eight prompts" in ALL
