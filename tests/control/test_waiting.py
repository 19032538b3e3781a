"""A text that is alone begins plainly, for as long as passes cannot be compared and no longer."""

from __future__ import annotations

import pytest

from control.worlds import Source, World
from truedraw.control.costs import BEGIN, KNOWN, PassCosts
from truedraw.control.experience import Experience
from truedraw.control.pause import LONGEST
from truedraw.control.payoff import PayoffController
from truedraw.control.settling import MUCH, SETTLES
from truedraw.control.waiting import MOST, Waiting
from truedraw.protocol import DraftCost


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


def test_behind_later_prompts_nobody_waits() -> None:
    costs = settled()
    waiting = Waiting(Experience(costs))
    for rows in (1, MUCH):
        costs.prompts(rows)
        assert rounds_of(waiting, costs, {rows}, 3) == [False] * 3


def test_the_first_text_of_a_model_waits_for_a_few_plain_passes() -> None:
    costs = PassCosts()
    assert rounds_of(Waiting(Experience(costs)), costs, {1}, 20).index(False) == KNOWN + BEGIN


def test_the_prompt_of_a_first_text_is_waited_for_as_well() -> None:
    costs = PassCosts()
    for _ in range(KNOWN + 1):
        costs.add(MUCH, 1.0)
    assert rounds_of(Waiting(Experience(costs)), costs, {1}, 40).index(False) == SETTLES + BEGIN


def test_nobody_waits_where_dear_drafts_were_measured_before() -> None:
    def kept(call: float) -> Experience:
        return Experience(PassCosts(), {("it", False): DraftCost("it", False, call, call, call)})

    waits = {call: rounds_of(Waiting(kept(call)), PassCosts(), {1}, 1) for call in (0.001, 0.2)}
    assert waits == {0.001: [True], 0.2: [False]}


def test_many_texts_do_not_wait() -> None:
    costs = PassCosts()
    costs.prompts(MUCH)
    assert rounds_of(Waiting(Experience(costs)), costs, {1, 2}, 3) == [False] * 3


def test_it_ends_where_others_prompts_never_do_and_begins_anew_with_another_text() -> None:
    costs = PassCosts()
    waiting = Waiting(Experience(costs))
    assert rounds_of(waiting, costs, {1}, 2 * MOST, rows=MUCH) == [True] * MOST + [False] * MOST
    assert rounds_of(waiting, costs, {2}, 1, rows=MUCH, start=2 * MOST) == [True]


@pytest.mark.parametrize(("samples", "waits"), [(1, True), (2, False)])
def test_dear_drafts_wait_and_cheap_ones_do_not(samples: int, waits: bool) -> None:
    dear = Source(lambda *_: 0.9, seconds=0.1, is_certain=False, has_opinion=False)
    known, first = Experience(), KNOWN + BEGIN
    world = World({"dear": dear}, samples)
    world.run(PayoffController(known), first if waits else 2 * first)
    assert (sum(map(sum, world.chosen)) == 0) == waits
    known = Experience()
    cheap = World({"cheap": Source(lambda *_: 0.9)}, samples)
    cheap.run(PayoffController(known), first)
    assert sum(map(sum, cheap.chosen)) > 0


def test_a_decision_stands_behind_a_prompt_of_others() -> None:
    dear = Source(lambda *_: 0.9, seconds=0.1, is_certain=False, has_opinion=False)
    known, world = Experience(settled()), World({"dear": dear})
    controller = PayoffController(known)
    world.run(controller, 8)
    known.costs.prompts(MUCH)
    before = len(world.chosen)
    world.run(controller, SETTLES)
    assert all(map(sum, world.chosen[before:]))


def test_it_is_told_how_long_nobody_is_to_be_asked() -> None:
    costs = PassCosts()
    costs.prompts(MUCH)
    alone, many = Waiting(Experience(costs)), Waiting(Experience(costs))
    alone.begin({1}, 1)
    many.begin({1, 2}, 1)
    assert (alone.left, many.left) == (SETTLES, LONGEST)
