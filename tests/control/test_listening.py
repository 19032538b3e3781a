"""Drafters that nobody is going to ask need not listen: what that saves decides how long they are left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from truedraw.control.average import FIRST
from truedraw.control.experience import Experience
from truedraw.control.listening import HEARD, Listening
from truedraw.control.pause import BEFORE, DOZING, IDLE, LONGEST
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


def asked(known: Experience, rounds: int, texts: int = 1) -> list[int]:
    """The rounds in which drafters that never have anything are asked, by a new controller; to listen takes long."""
    controller, found, here = PayoffController(known), [], [*range(texts)]
    for number in range(rounds):
        rests = controller.rest(here)
        if not all(rests):
            found.append(number)
            askers = [Asker(sample, 7, ("it",)) for sample in here]
            controller.budget(askers)
            controller.choose(askers, [{} for _ in askers], {})
        took = PASS + (0.01 if min(rests) > 1 else 0.05)
        done = Round(0, (1,), (), (), (), 0, 0, engine_seconds=PASS, seconds=took, pass_rows=texts)
        controller.observe([replace(done, sample=sample) for sample in here])
    return found


def test_pauses_begin_by_those_of_the_texts_before() -> None:
    """Of as many; with a part of the last one, for they may be others."""
    known = Experience()
    first = asked(known, 300)
    usual = known.pauses[1]
    assert usual > BEFORE
    again = asked(known, 300)
    assert again[0] == 0
    assert again[1] == DOZING > first[1]  # as far as it is not known what listening takes
    assert len(again) < len(first)
    assert asked(known, 20, texts=3)[1] == 2 < DOZING
