"""What drafters take is kept from one load of a model to the next: believed at once, and given up after a few calls."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest

from control.worlds import Source, World
from truedraw.control.average import FIRST
from truedraw.control.costs import PassCosts
from truedraw.control.experience import Experience
from truedraw.control.kept import DEAREST, ENOUGH, HOPE, LONGEST_NAME, MOST, recalled, remember
from truedraw.control.pace import Before, Pace, beyond
from truedraw.control.payoff import LONGEST, SHORTEST, PayoffController
from truedraw.control.slope import SHARE
from truedraw.protocol import Asker, DraftCost

PASS, CALL = 0.04, 0.006  # seconds
COST = DraftCost("it", False, 0.3, 0.1, 0.2, 0.05)
IT = ("it", False)


class Keeping:
    """What an engine keeps, and how often it was told."""

    def __init__(self, *costs: DraftCost) -> None:
        self.costs, self.told = list(costs), 0

    def draft_costs(self) -> list[DraftCost]:
        return self.costs

    def keep_draft_costs(self, costs) -> None:
        self.costs, self.told = list(costs), self.told + 1


def passes(seconds: float = PASS, count: int = ENOUGH) -> PassCosts:
    found = PassCosts({1: 1.0, 2: 1.1, 64: 4.0})
    for _ in range(count):
        found.add(1, seconds)
    return found


def calls(known: Experience, *seconds: float, name: str = "it", tokens: int = 3, levels: int = 0) -> None:
    for each in seconds:
        known.of(name).pace.add(each, tokens, levels)


def remembered(engine: Keeping, *seconds: float, of_pass: float = PASS, **how) -> Keeping:
    known = Experience(passes(of_pass), recalled(engine))
    calls(known, *seconds, **how)
    remember(engine, known)
    return engine


# ------------------------------------------------------------------------------------------- what is believed


def test_what_was_kept_is_believed_before_the_first_call() -> None:
    pace = Experience(passes(), {IT: COST}).of("it").pace
    assert pace.is_known
    assert not pace.is_measured
    assert pace.call == pytest.approx(0.3 * PASS)
    assert pace.rates.token == pytest.approx(0.1 * PASS)
    assert pace.chain(5) == pytest.approx(0.5 * PASS)
    assert pace.tree(2, 5) == pytest.approx(PASS * (0.2 + 0.05 * beyond(2, 5)))


def test_where_nobody_kept_what_a_further_level_takes_it_is_as_much() -> None:
    pace = Experience(passes(), {IT: replace(COST, further=None)}).of("it").pace
    assert pace.tree(2, 5) == pytest.approx(PASS * 0.2 * (1 + beyond(2, 5)))


def test_levels_that_take_nothing_are_kept_as_such() -> None:
    """A head that says all levels in one call."""
    engine, known = Keeping(), Experience(passes())
    for _ in range(60):
        calls(known, 0.0100, tokens=1, levels=1)
        calls(known, 0.0095, tokens=4, levels=4)
    remember(engine, known)
    again = Experience(passes(), recalled(engine)).of("it").pace
    assert again.tree(5, 8) == pytest.approx(known.of("it").pace.tree(5, 8))
    assert again.tree(5, 8) == pytest.approx(0.00975, rel=0.02)


def test_a_measured_price_takes_the_place_of_the_kept_one_however_times_rise() -> None:
    engine = Keeping(COST)
    known = Experience(passes(), recalled(engine))
    for _ in range(30):
        calls(known, 0.002, tokens=2, levels=2)
        calls(known, 0.020, tokens=4, levels=4)
    remember(engine, known)
    (cost,) = engine.costs
    assert cost != COST
    assert cost.level > 0.0


def test_calls_that_found_nothing_tell_nothing_of_trees() -> None:
    known = Experience(passes())
    for _ in range(60):
        calls(known, 0.010, tokens=1, levels=1)
        calls(known, *[1e-5] * 6, tokens=0)
        calls(known, 0.0136, tokens=5, levels=4)
    pace = known.of("it").pace
    assert pace.tree(1, 1) == pytest.approx(0.010, rel=0.03)
    assert pace.tree(4, 5) == pytest.approx(0.0136, rel=0.03)


@pytest.mark.parametrize(("source", "coupled"), [("other", False), ("it", True)])
def test_what_was_kept_is_nobody_elses(source: str, coupled: bool) -> None:
    assert not Experience(passes(), {IT: COST}).of(source, coupled).pace.is_known


def test_it_is_worth_what_passes_take_now() -> None:
    costs = passes(count=0)
    pace = Experience(costs, {IT: COST}).of("it").pace
    assert pace.call == pytest.approx(0.3)  # of a table without a unit
    costs.add(1, 5.0)
    assert pace.call == pytest.approx(1.5)


def test_it_serves_until_a_few_calls_were_measured_which_replace_it() -> None:
    known = Experience(passes(), {IT: COST})
    for _ in range(FIRST - 1):
        calls(known, 50 * CALL)
        assert known.of("it").pace.call == pytest.approx(0.3 * PASS)
    calls(known, CALL)
    assert known.of("it").pace.is_measured
    first = CALL / (1 + SHARE * beyond(3, 3))  # its parts cannot be told apart yet
    assert known.of("it").pace.rates == pytest.approx((CALL, CALL / 3, first, SHARE * first))


def test_calls_that_found_nothing_do_not_replace_it() -> None:
    known = Experience(passes(), {IT: COST})
    calls(known, *[1e-6] * 20, tokens=0)
    assert known.of("it").pace.call == pytest.approx(0.3 * PASS)


def test_known_drafters_are_asked_for_whole_offers_in_the_first_round() -> None:
    asker, cheap = Asker(0, 20, ("it",)), replace(COST, call=0.01)
    fresh, knowing = Experience(), Experience(kept={IT: cheap})
    assert PayoffController(fresh).budget([asker]) == [{"it": 1}]
    (asked,) = PayoffController(knowing).budget([asker])
    assert SHORTEST <= asked["it"] <= LONGEST
    dear = Experience(kept={IT: COST})
    assert PayoffController(dear).budget([asker]) == [{}]  # its price is weighed first


def test_who_is_known_to_be_too_dear_does_not_draft_in_the_first_rounds() -> None:
    """Never known, its calls count as nothing until they are measured."""
    taken = []
    for kept in ({}, {IT: replace(COST, call=5.0, token=5.0, level=5.0)}):
        world = World({"it": Source(lambda *_: 0.9, seconds=5.0, is_certain=False)})
        controller = PayoffController(Experience(kept=kept))
        controller._known.of("it").is_certain = False
        world.run(controller, 20)
        taken.append(sum(map(sum, world.chosen)))
    assert taken[0] > 0
    assert taken[1] == 0


# ------------------------------------------------------------------------------------------- what is kept


def test_what_was_measured_is_kept_in_passes_and_recalled() -> None:
    engine = remembered(Keeping(), *[CALL] * FIRST, levels=2)
    assert recalled(engine) == {IT: engine.costs[0]}
    cost = engine.costs[0]
    found, first = (cost.call, cost.token, cost.level, cost.further), CALL / PASS / (1 + SHARE * beyond(2, 3))
    assert found == pytest.approx((CALL / PASS, CALL / PASS / 3, first, SHARE * first))
    again = Experience(passes(7 * PASS), recalled(engine)).of("it").pace
    assert again.call == pytest.approx(7 * CALL)
    assert again.chain(3) == pytest.approx(7 * CALL)
    assert again.tree(2, 3) == pytest.approx(7 * CALL)


def test_a_slow_machine_is_slow_for_both() -> None:
    quick, slow = remembered(Keeping(), *[CALL] * 5), remembered(Keeping(), *[9 * CALL] * 5, of_pass=9 * PASS)
    assert quick.costs[0].call == pytest.approx(slow.costs[0].call)


def test_the_time_of_first_calls_is_not_kept() -> None:
    assert not remembered(Keeping(), *[9.0] * (FIRST - 1)).told
    compiled = remembered(Keeping(), 9.0, 5.0, *[CALL] * 8)
    assert compiled.costs[0].call == pytest.approx(CALL / PASS)


def test_few_passes_say_too_little_to_keep_anything() -> None:
    engine = Keeping()
    known = Experience(passes(count=ENOUGH - 1))
    calls(known, *[CALL] * 9)
    remember(engine, known)
    assert not engine.told
    known.costs.add(1, PASS)
    remember(engine, known)
    assert engine.told


def test_a_number_that_no_longer_fits_is_replaced() -> None:
    engine = remembered(Keeping(COST, replace(COST, coupled=True)), *[CALL] * FIRST)
    first, second = engine.costs
    assert first.call == pytest.approx(CALL / PASS)
    assert second == replace(COST, coupled=True)


def test_what_others_kept_meanwhile_stays() -> None:
    engine, other = Keeping(), replace(COST, source="other")
    known = Experience(passes(), recalled(engine))
    engine.costs = [other]
    calls(known, *[CALL] * FIRST)
    remember(engine, known)
    assert [cost.source for cost in engine.costs] == ["it", "other"]
    assert engine.costs[1] == other


def test_who_was_not_tried_is_thought_less_dear_until_somebody_tries() -> None:
    dear = replace(COST, call=7.0, token=7.0, level=7.0)
    engine, unused = Keeping(dear), replace(dear, source="unused")
    engine.costs.append(unused)
    known = Experience(passes(), recalled(engine))
    known.of("it")
    remember(engine, known)
    hoped = replace(dear, call=7 * HOPE, token=7 * HOPE, level=7 * HOPE, further=dear.further * HOPE)
    assert engine.costs == [hoped, unused]


def test_nothing_new_is_not_written() -> None:
    engine = remembered(Keeping(COST))
    assert not engine.told
    known = Experience(passes(), recalled(engine))
    known.of("other")
    remember(engine, known)
    assert not engine.told


@pytest.mark.parametrize("wrong", [{"call": nan}, {"call": inf}, {"call": 0.0}, {"token": -1.0}, {"level": nan},
                                   {"token": 1.01 * DEAREST}, {"level": 1.01 * DEAREST},
                                   {"further": -0.1}, {"further": nan}, {"further": 1.01 * DEAREST},
                                   {"source": "x" * (LONGEST_NAME + 1)}])  # fmt: skip
def test_what_makes_no_sense_is_ignored(wrong) -> None:
    odd = replace(COST, **wrong)
    assert recalled(Keeping(odd, COST)) == recalled(Keeping(COST, odd)) == {IT: COST}


def test_what_makes_no_sense_is_not_kept_and_takes_the_old_number_along() -> None:
    assert remembered(Keeping(COST), *[100 * DEAREST * PASS] * FIRST).costs == []
    name = "x" * (LONGEST_NAME + 1)
    assert not remembered(Keeping(), *[CALL] * FIRST, name=name).told
    assert remembered(Keeping(), *[CALL] * FIRST, name=name[1:]).told


def test_the_number_of_drafters_is_bounded_and_the_latest_stay() -> None:
    old = [replace(COST, source=f"old {number}") for number in range(MOST)]
    engine = Keeping(*old)
    known = Experience(passes(), recalled(engine))
    for number in range(3):
        calls(known, *[CALL] * FIRST, name=f"new {number}")
    remember(engine, known)
    assert [cost.source for cost in engine.costs[:4]] == ["new 0", "new 1", "new 2", "old 0"]
    assert len(engine.costs) == MOST
    assert len(recalled(Keeping(*old, *engine.costs))) == MOST


def test_an_engine_that_keeps_nothing_is_left_alone() -> None:
    assert recalled(object()) == {}
    known = Experience(passes())
    calls(known, *[CALL] * FIRST)
    remember(object(), known)


def test_a_pace_without_a_past_is_as_it_was() -> None:
    pace = Pace()
    assert (pace.is_known, pace.rates, pace.chain(3), pace.tree(1, 3)) == (False, (0, 0, 0, 0), 0, 0)
    assert Pace(Before(COST, passes())).is_known


def test_what_is_kept_is_in_passes_of_short_texts() -> None:
    """Else it would be worth less where texts are long."""
    costs, engine = PassCosts({1: 1.0, 8: 2.0}, {}, {1: 1e-3}), Keeping()
    costs.length = 2000.0
    for _ in range(ENOUGH):
        costs.add(1, PASS)
    known = Experience(costs)
    calls(known, 0.3 * PASS, 0.3 * PASS, 0.3 * PASS)
    remember(engine, known)
    (kept,) = engine.costs
    assert kept.call == pytest.approx(0.3 * costs.seconds(1) / costs.unit)
    assert Experience(costs, recalled(engine)).of("it").pace.call == pytest.approx(0.3 * PASS)
