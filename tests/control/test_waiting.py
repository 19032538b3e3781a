"""A text that is alone begins plainly, for as long as passes cannot be compared and no longer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from control.worlds import Source, World
from truedraw.control.costs import BEGIN, KNOWN, PassCosts
from truedraw.control.experience import Experience
from truedraw.control.pause import LONGEST
from truedraw.control.payoff import PayoffController
from truedraw.control.settling import MUCH, SETTLES
from truedraw.control.waiting import MOST, Waiting


def settled() -> PassCosts:
    costs = PassCosts()
    for _ in range(KNOWN + BEGIN + SETTLES):
        costs.add(1, 1.0)
    return costs


def rounds_of(
    waiting: Waiting, costs: PassCosts, texts: set[int], rounds: int, rows: int = 1, start: int = 0
) -> list[bool]:
    found = []
    for step in range(rounds):
        waiting.begin(texts, start + step)
        found.append(waiting.is_on)
        costs.add(rows, 1.0, len(texts))
    return found


def test_behind_a_prompt_it_waits_until_passes_have_settled() -> None:
    costs = settled()
    waiting = Waiting(costs)
    assert rounds_of(waiting, costs, {1}, 3) == [False] * 3
    costs.prompts(MUCH)
    assert rounds_of(waiting, costs, {2}, SETTLES + 4, start=3) == [True] * SETTLES + [False] * 4


def test_the_first_text_of_a_model_waits_for_a_few_plain_passes() -> None:
    costs = PassCosts()
    assert rounds_of(Waiting(costs), costs, {1}, 20).index(False) == KNOWN + BEGIN


def test_many_texts_do_not_wait() -> None:
    costs = settled()
    costs.prompts(MUCH)
    assert rounds_of(Waiting(costs), costs, {1, 2}, 3) == [False] * 3


def test_it_ends_where_others_prompts_never_do_and_begins_anew_with_another_text() -> None:
    costs = settled()
    costs.prompts(MUCH)
    waiting = Waiting(costs)
    assert rounds_of(waiting, costs, {1}, 2 * MOST, rows=MUCH) == [True] * MOST + [False] * MOST
    assert rounds_of(waiting, costs, {2}, 1, rows=MUCH, start=2 * MOST) == [True]


@pytest.mark.parametrize(("samples", "waits"), [(1, True), (2, False)])
def test_dear_drafts_wait_and_cheap_ones_do_not(samples: int, waits: bool) -> None:
    dear = Source(lambda *_: 0.9, seconds=0.1, is_certain=False, has_opinion=False)
    known = Experience(settled())
    known.costs.prompts(MUCH)
    world = World({"dear": dear}, samples)
    world.run(PayoffController(known), SETTLES)
    assert (sum(map(sum, world.chosen)) == 0) == waits
    cheap = World({"cheap": Source(lambda *_: 0.9)}, samples)
    known.costs.prompts(MUCH)
    cheap.run(PayoffController(known), SETTLES)
    assert sum(map(sum, cheap.chosen)) > 0


def test_what_was_decided_before_a_prompt_was_read_does_not_stand_behind_it() -> None:
    """The round that reads it is one of many rows, and is learnt of before the next."""
    dear = Source(lambda *_: 0.9, seconds=0.1, is_certain=False, has_opinion=False)
    known, world = Experience(settled()), World({"dear": dear})
    controller, observe = PayoffController(known), PayoffController.observe
    world.run(controller, 8)
    assert sum(map(sum, world.chosen)) > 0

    def wide(rounds):
        observe(controller, [replace(done, pass_rows=done.pass_rows + MUCH) for done in rounds])

    controller.observe = wide
    world.run(controller, 1)
    controller.observe = lambda rounds: observe(controller, rounds)
    before = len(world.chosen)
    world.run(controller, SETTLES - 1)
    assert sum(map(sum, world.chosen[before:])) == 0


def test_it_is_told_how_long_nobody_is_to_be_asked() -> None:
    costs = settled()
    costs.prompts(MUCH)
    alone, many = Waiting(costs), Waiting(costs)
    alone.begin({1}, 1)
    many.begin({1, 2}, 1)
    assert (alone.left, many.left) == (SETTLES, LONGEST)
