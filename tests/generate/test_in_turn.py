"""A fixed number of draft tokens from several drafters: they are asked in turn, however many there are."""

from __future__ import annotations

from itertools import product

import pytest

from known_laws import SCENARIOS
from truedraw.control.fixed import FixedController
from truedraw.draft.several import SeveralDrafters, Source
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Parts, Together
from truedraw.protocol import Asker, Choice, Proposal
from truedraw.registry import find
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.runs import started

CASE = SCENARIOS[0]
NUMBER = 2
NAMES = ("first", "second", "third", "fourth")


class Said:
    """A drafter that has something where its text's turn says so, and notes who asks it for how much."""

    def __init__(self, name: str, has: bool, asked: list) -> None:
        self.name, self.has, self.asked = name, has, asked

    def open(self, tokens, law):
        return self

    def commit(self, tokens, scores) -> None:
        """Nothing is learnt."""

    def ahead(self, tokens):
        return self

    def propose(self, states, budgets, randomness):
        self.asked.append((self.name, *budgets))
        return [Proposal.chain([0] if self.has else []) for _ in states]


class Chances:
    """Of every sample its own."""

    def sample(self, index: int) -> PhiloxRandomness:
        return PhiloxRandomness(1, index)


def first_round(has, samples: int = 1):
    """(who was asked for how much, the rounds of the first pass)."""
    asked: list = []
    said = [Said(name, each, asked) for name, each in zip(NAMES, has, strict=False)]
    parts = Parts(SeveralDrafters.of({each.name: Source(each, each) for each in said}), find("verifiers", "coupled")())
    engine = TabularEngine(CASE.target)
    texts = [started(parts, CASE, Chances(), number, engine) for number in range(samples)]
    return asked, next(rounds(engine, FixedController(NUMBER), Together(texts)))


@pytest.mark.parametrize("number", range(1, len(NAMES) + 1))
def test_the_first_that_has_something_drafts_and_nobody_behind_it_is_asked(number: int) -> None:
    for has in product((False, True), repeat=number):
        asked, [done] = first_round(has)
        drafting = has.index(True) if True in has else None
        expected = NAMES[:number] if drafting is None else NAMES[: drafting + 1]
        assert asked == [(name, NUMBER) for name in expected]
        assert done.source == ("" if drafting is None else NAMES[drafting])
        assert done.drafted == (drafting is not None)


def test_texts_are_asked_about_in_one_call() -> None:
    asked, done = first_round((False, False, True), samples=3)
    assert asked == [(name, *[NUMBER] * 3) for name in NAMES[:3]]
    assert [each.source for each in done] == ["third"] * 3


def test_the_choice_names_all_who_were_not_asked() -> None:
    controller = FixedController(5)
    asker = Asker(0, 3, NAMES)
    assert controller.budget([asker]) == [{"first": 3}]
    [choice] = controller.choose([asker], [{"first": Proposal.chain(())}], {})
    assert choice == Choice("second", tokens=3, then=("third", "fourth"))
    assert controller.choose([asker], [{}], {}) == [Choice()]  # the first had no room: nobody has
    assert controller.choose([Asker(0, 3, NAMES[:1])], [{"first": Proposal.chain(())}], {}) == [Choice()]
