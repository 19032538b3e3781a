"""Rows of long texts cost more than those of short ones, and texts of all lengths take turns."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from control.worlds import Source, World
from truedraw import load
from truedraw.control.costs import PassCosts
from truedraw.control.experience import Experience
from truedraw.control.payoff import PayoffController
from truedraw.control.texts import Texts
from truedraw.protocol import Asker

OF_TOKEN = 1e-4  # of a pass: a row of a text of 4,000 tokens takes 0.4 more
LENGTHS = 50, 4000
ROUNDS, TURNS = 60, 24
KEPT = 0.6
TABLE = {rows: 0.98 + 0.02 * rows for rows in range(1, 17)}


def world(length: int) -> World:
    """A text whose drafts are drawn, and kept so often."""
    drawn = Source(lambda *_: KEPT, is_certain=False, has_opinion=False, seconds=0.05)
    return World({"drawn": drawn}, cost=TABLE.__getitem__, length=length, of_token=OF_TOKEN)


def best(length: int) -> float:
    """Of all fixed numbers of drafts."""
    there, taken = world(length), range(16)
    gains = [sum(KEPT**k for k in range(drafts + 1)) for drafts in taken]
    return max(gains[n] / (there.takes(1 + n) + 0.05 * n) for n in taken) * there.takes(1)


def speeds(costs: PassCosts) -> dict[int, float]:
    """By length, of texts in turns, the first few left out; each has its own controller, and all learn together."""
    known, found = Experience(costs), {length: [] for length in LENGTHS}
    for turn in range(TURNS):
        for length in LENGTHS:
            found[length].append(world(length).run(PayoffController(known), ROUNDS, seed=turn))
    return {length: sum(each[4:]) / len(each[4:]) for length, each in found.items()}


def test_each_length_drafts_as_much_as_pays_there() -> None:
    found = speeds(PassCosts(TABLE, {}, {rows: rows * OF_TOKEN for rows in (1, 2, 4, 8)}))
    for length in LENGTHS:
        assert found[length] > 0.96 * best(length)


def test_without_knowing_what_a_token_costs_long_texts_lose() -> None:
    """So that the test above says something."""
    blind, seeing = (speeds(PassCosts(TABLE, {}, further)) for further in ({}, {1: OF_TOKEN, 8: 8 * OF_TOKEN}))
    assert blind[4000] < 0.97 * seeing[4000]


def of_two(known: Experience, length: int, rounds: int, controller: PayoffController | None = None):
    """A controller, after rounds of a text of so many tokens."""
    found = controller or PayoffController(known)
    world(length).run(found, rounds, seed=length)
    return found


def test_jobs_that_take_turns_learn_of_their_own_lengths() -> None:
    """They share what passes take, round by round; none is told of by the length of the other's text."""
    costs = PassCosts(TABLE, {}, {1: OF_TOKEN, 8: 8 * OF_TOKEN})
    known, controllers = Experience(costs), dict.fromkeys(LENGTHS)
    for _ in range(120):
        for length in LENGTHS:
            controllers[length] = of_two(known, length, 1, controllers[length])
    for length in LENGTHS:
        for rows in (1, 2, 4):
            assert costs.seconds(rows, 1, length) == pytest.approx(world(length).takes(rows), rel=0.08)


def test_an_account_is_priced_by_the_lengths_of_its_own_texts() -> None:
    known = Experience(PassCosts(TABLE, {}, {1: OF_TOKEN, 8: 8 * OF_TOKEN}))
    short = of_two(known, 50, 200)
    before = short.account.explanation()
    of_two(known, 4000, 20)
    after = short.account.explanation()
    assert after.predicted_speedup == pytest.approx(before.predicted_speedup, rel=0.05)
    assert after.actual_speedup == pytest.approx(before.actual_speedup, rel=0.05)


def test_a_few_who_are_asked_do_not_stand_for_the_length_of_all() -> None:
    texts = Texts(Experience())
    askers = [Asker(sample, 7, (), {}, length=length) for sample, length in enumerate([4000, *[100] * 9])]
    everybody = frozenset(range(10))
    assert texts.length(askers, everybody) == 490
    assert texts.length([replace(askers[0], length=4100)], everybody) == 500
    assert texts.length(askers[1:2], everybody - {0}) == 100
    assert texts.length(askers[1:2], everybody) == 100  # of the first nothing is known any more


@pytest.mark.parametrize("samples", [1, 3])
def test_texts_tell_how_long_they_are(samples: int) -> None:
    seen: list[list[int]] = []

    class Asking(PayoffController):
        def budget(self, askers):
            seen.append([asker.length for asker in askers])
            return super().budget(askers)

    with patch("truedraw.generate.model.PayoffController", Asking), load("tabular") as model:
        prompt = model.tokenizer.encode("the cat sat")
        model.generate(prompt, n=samples, max_tokens=8, seed=1, ignore_eos=True, speculative={"method": "ngram"})
    assert seen[0] == [len(prompt)] * samples
    assert max(map(max, seen)) > len(prompt)
    assert all(len(prompt) <= length < len(prompt) + 8 for lengths in seen for length in lengths)


@pytest.mark.parametrize("length", LENGTHS)
def test_what_pays_differs_by_length(length: int) -> None:
    """The world of these tests is one that matters."""
    there = world(length)
    chains = [sum(KEPT**k for k in range(n + 1)) / (there.takes(1 + n) + 0.05 * n) * there.takes(1) for n in (1, 4)]
    assert (chains[0] > chains[1]) is (length == 4000)
