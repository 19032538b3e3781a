"""Drafters that nobody is going to ask need not listen: what that saves decides how long they are left alone."""

from __future__ import annotations

import pytest

from truedraw.control.average import FIRST
from truedraw.control.listening import HEARD, Listening
from truedraw.control.pause import IDLE, LONGEST
from truedraw.control.payoff import PayoffController
from truedraw.protocol import Asker, Round

PASS = 1.0


def heard(awake: float, asleep: float, times: int = 40) -> Listening:
    listening = Listening()
    for _ in range(times):
        listening.add(awake, dozing=False)
        listening.add(asleep, dozing=True)
    return listening


def test_it_is_what_rounds_take_longer() -> None:
    assert heard(0.3, 0.2).seconds == pytest.approx(HEARD * 0.1)
    assert heard(0.2, 0.3).seconds == 0.0


def test_it_is_not_known_before_both_were_seen() -> None:
    assert heard(0.3, 0.2, FIRST - 1).seconds == 0.0
    listening = Listening()
    for _ in range(10):
        listening.add(0.3, dozing=False)
    assert listening.seconds == 0.0


def weighings(hearing: float, rounds: int = 600) -> int:
    """Rounds in which a drafter that never has anything is asked, where to hear a round takes so long."""
    controller, asked = PayoffController(), 0
    for _ in range(rounds):
        (left,) = controller.rest([0])
        if not left:
            asked += 1
            asker = Asker(0, 7, ("it",))
            controller.budget([asker])
            controller.choose([asker], [{}], {})
        other = 0.01 + (0.0 if left > 1 else hearing)
        controller.observe([Round(0, (1,), (), (), (), 0, 0, engine_seconds=PASS, seconds=PASS + other, pass_rows=1)])
    return asked


def test_where_listening_takes_long_drafters_are_asked_seldom() -> None:
    often, seldom = weighings(0.004), weighings(0.04)
    assert seldom < often
    pause = min(HEARD * 0.04 / (IDLE * PASS), LONGEST)
    assert 600 / pause <= seldom <= 2 * 600 / pause + 5
