"""What the first step of a call takes and what each further one: learnt apart where calls differ, shared where not."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.control.average import FIRST
from truedraw.control.slope import SHARE, Slope


def told(*calls: tuple[float, float], times: int = 1) -> Slope:
    slope = Slope()
    for more, seconds in calls * times:
        slope.add(more, seconds)
    return slope


def test_nothing_is_known_before_the_first_call() -> None:
    assert Slope().at(3.0) == 0.0


@pytest.mark.parametrize("more", [0.0, 1.0, 4.5])
def test_calls_that_do_the_same_are_shared_out_as_was_thought(more: float) -> None:
    slope = told((more, 2.0), times=50)
    assert slope.at(more) == pytest.approx(2.0)
    assert slope.further == pytest.approx(SHARE * slope.first)


@pytest.mark.parametrize(("first", "further"), [(1.0, 0.1), (1.0, 0.7), (3.0, 1.0), (1.0, 1.0)])
def test_calls_that_differ_tell_both(first: float, further: float) -> None:
    slope = told(*((more, first + further * more) for more in (0.0, 1.2, 2.5, 4.0)), times=60)
    assert [slope.at(more) for more in (0.0, 4.0)] == pytest.approx([first, first + 4.0 * further], rel=0.05)


def test_calls_that_take_the_same_whatever_they_do_have_no_further_price() -> None:
    slope = told((0.0, 1.0), (3.0, 0.9), times=60)
    assert (slope.further, slope.first) == (0.0, pytest.approx(0.95, rel=0.02))


def test_times_that_rise_faster_than_in_proportion_leave_the_first_step_its_price() -> None:
    """One that was held up counts for little there, too."""
    slope = told((1.15, 2.0), (3.5, 20.0), times=30)
    assert slope.first == slope.further > 0.0
    before = slope.first
    slope.add(0.0, 500.0)
    assert slope.first < 3.0 * before


@pytest.mark.parametrize("more", [0.0, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("calls", [FIRST, 6, 40])
def test_no_call_moves_what_is_thought_of_its_like_by_more_than_a_tenth(more: float, calls: int) -> None:
    """Where it tells of so many steps what no other has, too."""
    slope = told((0.0, 1.0), times=calls)
    before = slope.at(more)
    slope.add(more, 1000.0)
    assert slope.at(more) < 1.11 * before
    assert slope.first < 1.11


def test_what_a_machine_took_long_ago_is_forgotten() -> None:
    slope = told((0.0, 1.0), (2.0, 2.0), times=100)
    for _ in range(200):
        slope.add(0.0, 3.0)
        slope.add(2.0, 3.4)
    assert [slope.at(more) for more in (0.0, 2.0)] == pytest.approx([3.0, 3.4], rel=0.05)


def test_the_first_calls_load_and_warm_up() -> None:
    slope = told((0.0, 100.0), (0.0, 1.0), (0.0, 7.0))
    assert slope.at(0.0) == pytest.approx(1.0)


def test_one_that_was_held_up_counts_for_little() -> None:
    slope = told((0.0, 1.0), (1.0, 1.3), times=30)
    slope.add(1.0, 1000.0)
    assert slope.at(1.0) < 1.6


@pytest.mark.parametrize("rising", [True, False])
def test_neither_is_ever_out_of_bounds(rising: bool) -> None:
    """More that takes less time, and times that rise faster than in proportion."""
    random = np.random.default_rng(5)
    slope = Slope()
    for number in range(300):
        more = float(random.integers(0, 5))
        slope.add(more, random.uniform(0.9, 1.1) * (0.01 * more**4 if rising else 10.0 / (1.0 + more)) + 1e-9)
        assert slope.first >= slope.further >= 0.0
        assert number < FIRST or slope.at(2.0) > 0.0
