"""What rounds take beside pass and drafters: with drafts and without, by the number of texts."""

from __future__ import annotations

import pytest

from truedraw.control.average import FIRST
from truedraw.control.upkeep import Upkeep


def known(*rounds: tuple[int, int, float]) -> Upkeep:
    """After as many of each of these rounds (texts, drafts, seconds) as it takes to be known."""
    upkeep = Upkeep()
    for _ in range(FIRST):
        for each in rounds:
            upkeep.add(*each)
    return upkeep


def test_it_is_a_text_s() -> None:
    upkeep = known((4, 0, 8.0))
    assert upkeep.seconds(4, 0) == pytest.approx(8.0)
    assert upkeep.seconds(1, 0) == 0.0


def test_rounds_with_drafts_and_without_are_told_apart() -> None:
    upkeep = known((1, 0, 1.0), (1, 3, 5.0))
    assert upkeep.seconds(1, 0) == pytest.approx(1.0)
    assert upkeep.seconds(1, 3) == pytest.approx(5.0)


def test_what_each_further_draft_takes_is_learnt() -> None:
    upkeep = Upkeep()
    for _ in range(50):
        upkeep.add(1, 1, 4.0)
        upkeep.add(1, 5, 6.0)
    assert upkeep.seconds(1, 1) == pytest.approx(4.0, rel=0.02)
    assert upkeep.seconds(1, 3) == pytest.approx(5.0, rel=0.02)
    assert upkeep.seconds(2, 6) == 0.0  # two texts: not seen
    one = known((1, 4, 13.0))  # of which nobody knows yet: a tenth of what the first takes
    assert one.seconds(1, 5) - one.seconds(1, 4) == pytest.approx(0.1 * one.seconds(1, 1))


def test_texts_share_the_drafts_of_a_round() -> None:
    upkeep = Upkeep()
    for _ in range(50):
        upkeep.add(4, 4, 4 * 2.0)
        upkeep.add(4, 12, 4 * 4.0)
    assert upkeep.seconds(4, 8) == pytest.approx(4 * 3.0, rel=0.02)
    assert upkeep.seconds(4, 1) == pytest.approx(4 * 2.0, rel=0.02)  # hardly any has one


@pytest.mark.parametrize("drafts", [0, 2])
def test_while_one_kind_is_unknown_the_other_stands_in(drafts: int) -> None:
    upkeep = known((2, drafts, 6.0))
    assert upkeep.seconds(2, 2 - drafts) == pytest.approx(6.0)
    upkeep.add(2, 2 - drafts, 60.0)
    assert upkeep.seconds(2, 2 - drafts) == pytest.approx(6.0)


def test_while_only_rounds_that_were_heard_are_known_those_stand_for_plain_ones() -> None:
    upkeep = Upkeep()
    for _ in range(FIRST):
        upkeep.add(2, 0, 6.0, heard=True)
    assert upkeep.seconds(2, 0) == pytest.approx(6.0)
    for _ in range(FIRST):
        upkeep.add(2, 0, 4.0)
    assert upkeep.seconds(2, 0) == pytest.approx(4.0)


def test_what_hardly_any_round_tells_is_not_known() -> None:
    upkeep = Upkeep()
    for _ in range(FIRST - 1):
        upkeep.add(1, 0, 1.0)
        assert upkeep.seconds(1, 0) == upkeep.seconds(1, 2) == 0.0
    upkeep.add(1, 0, 1.0)
    assert upkeep.seconds(1, 0) == pytest.approx(1.0)


def test_a_clock_that_runs_back_takes_nothing_off() -> None:
    assert known((1, 0, -3.0)).seconds(1, 0) == 0.0
