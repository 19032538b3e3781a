"""Rounds in which nobody is asked are learnt of together, before the next decision."""

import pytest

from truedraw.control.lessons import MOST
from truedraw.control.payoff import PayoffController
from truedraw.protocol import Asker, Round


def done(sample=0, tokens=1, **changes):
    usual = {"engine_seconds": 1.0, "seconds": 1.1, "pass_rows": 1}
    return Round(sample, (1,) * tokens, (), (), (), 0, 0, **{**usual, **changes})


def resting(pause):
    """A controller whose next `pause` rounds nobody is asked in."""
    controller = PayoffController()
    controller._next = controller._step + pause + 1
    return controller


def passes(controller):
    return controller._costs.num_passes


@pytest.mark.parametrize("pause", [1, 2, 7])
def test_they_are_read_when_the_last_of_them_is_over(pause):
    controller = resting(pause)
    for number in range(pause):
        assert passes(controller) == 0
        assert controller.rest([0]) == [pause - number]
        controller.observe([done()])
    assert passes(controller) == pause
    assert controller.rest([0]) == [0]


def test_who_is_asked_before_that_decides_by_all_of_them():
    controller = resting(9)
    for _ in range(4):
        controller.rest([0])
        controller.observe([done()])
    assert passes(controller) == 0
    controller.budget([Asker(1, 3, (), {})])
    assert passes(controller) == 4


def test_so_does_whoever_wants_an_account():
    controller = resting(9)
    for _ in range(4):
        controller.rest([0])
        controller.observe([done()])
    explained = controller.account.explanation()
    assert explained.rounds == 4
    assert sum(stay.rounds for stay in explained.plain.values()) == 4
    assert passes(controller) == 4


def test_rounds_that_were_decided_for_elsewhere_wait_for_their_like():
    controller = PayoffController()
    for number in range(1, 2 * MOST + 1):
        controller.observe([done(sample=5)])
        assert passes(controller) == number // MOST * MOST


def test_a_rest_is_told_from_rounds_that_follow_it():
    """A job that another controller decides for comes behind a rest."""
    controller = resting(3)
    controller.rest([0])
    controller.observe([done(finish_reason="stop")])
    controller.observe([done(sample=1)])
    assert controller.account.explanation().rounds == 1


def test_what_is_learnt_is_what_would_have_been_at_once(monkeypatch):
    """Of texts that are asked for, rest, and ask again."""
    monkeypatch.setattr("truedraw.control.payoff.perf_counter", lambda: 0.0)  # to decide takes no time

    def seconds(reads):
        controller, asker = PayoffController(), Asker(0, 7, (), {})
        for number in range(200):
            if not any(controller.rest([0])):
                controller.budget([asker])
                controller.choose([asker], [{}], {})
                controller._next = controller._step + 1 + number % 5
            controller.observe([done(engine_seconds=1.0 + number % 7, seconds=2.0 + number % 3)])
            if reads:
                controller._lessons.read()
        account = controller.account.explanation()
        return controller._costs.seconds(1), controller._known.upkeep.seconds(1, 0), account.rounds, account.plain

    assert seconds(reads=True) == seconds(reads=False)
