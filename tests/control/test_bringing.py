"""Whether a drafter's offers are worth what it takes to have them made, beside those of others."""

from __future__ import annotations

from truedraw.control.bringing import ENOUGH, REST, Bringing
from truedraw.control.experience import Experience
from truedraw.protocol import Asker

RATE = 1.0  # tokens a second


def one(worth: float, others: float, seconds: float, rounds: int = ENOUGH) -> Bringing:
    found = Bringing()
    for at in range(rounds):
        found.saw(worth, others)
        found.took(seconds, at, found=worth > 0.0)
    return found


def test_who_brings_less_than_it_takes_rests_for_some_rounds() -> None:
    found = one(worth=0.0, others=0.5, seconds=0.02)
    assert [found.rests(ENOUGH - 1 + rounds, RATE) for rounds in (1, REST - 1, REST)] == [True, True, False]


def test_only_what_others_do_not_bring_counts() -> None:
    assert one(worth=0.5, others=0.6, seconds=0.02).rests(ENOUGH, RATE)
    assert not one(worth=0.5, others=0.4, seconds=0.02).rests(ENOUGH, RATE)


def test_nobody_is_given_up_too_soon() -> None:
    assert not one(0.0, 0.5, 0.02, ENOUGH - 1).rests(ENOUGH, RATE)


def test_the_last_one_is_asked_whatever_it_brings() -> None:
    known, asker = Experience(), Asker(0, 7, ("one", "other"))
    for source in asker.sources:
        for _ in range(4):
            known.of(source).pace.add(1e-3, 2)
        known.of(source).bringing = one(0.0, 0.0, 0.02)
    known.rounds = ENOUGH
    assert list(known.wanted(asker, 7, lambda: RATE)) == ["other"]
