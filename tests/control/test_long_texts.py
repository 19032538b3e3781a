"""Rows of long texts cost more than those of short ones, and texts of all lengths take turns."""

from __future__ import annotations

import pytest

from control.worlds import Source, World
from truedraw.control.costs import PassCosts
from truedraw.control.experience import Experience
from truedraw.control.payoff import PayoffController

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


@pytest.mark.parametrize("length", LENGTHS)
def test_what_pays_differs_by_length(length: int) -> None:
    """The world of these tests is one that matters."""
    there = world(length)
    chains = [sum(KEPT**k for k in range(n + 1)) / (there.takes(1 + n) + 0.05 * n) * there.takes(1) for n in (1, 4)]
    assert (chains[0] > chains[1]) is (length == 4000)
