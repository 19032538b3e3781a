"""What a controller tells of itself agrees with what happened in its world."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from control.worlds import Source, World
from generate.interruptions import between
from truedraw.control.account import MEASURING, NO_ROOM, NOT_WORTH_IT, NOTHING_OFFERED, PAUSING, WAITING, Account
from truedraw.control.average import FIRST
from truedraw.control.costs import KNOWN, PassCosts
from truedraw.control.experience import Experience
from truedraw.control.explanation import Explanation, Passes, together
from truedraw.control.payoff import PayoffController
from truedraw.control.rivalry import Rivalry
from truedraw.control.table import LADDER
from truedraw.protocol import Asker, Choice, Proposal, Round

HONEST = lambda _step, _sample, likely: likely  # noqa: E731


def told(world: World, rounds: int, controller: PayoffController | None = None) -> tuple[float, Explanation]:
    """(true speed-up, what the controller says)."""
    controller = controller or PayoffController()
    speed = world.run(controller, rounds)
    return speed, controller.account.explanation()


@pytest.mark.parametrize("samples", [1, 4])
def test_every_round_is_told_once(samples: int) -> None:
    world = World({"good": Source(HONEST), "rare": Source(HONEST, found=0.2)}, samples)
    _, found = told(world, 300)
    drafted, by = np.array(world.chosen), np.array(world.by)
    assert found.rounds == 300
    assert found.draft_rounds == (drafted.sum(axis=1) > 0).sum()
    assert found.draft_rounds + sum(stay.rounds for stay in found.plain.values()) == 300
    assert sum(passes.rounds for passes in found.widths.values()) == 300
    assert sum(passes.tokens for passes in found.widths.values()) == world.tokens
    for name, use in found.drafters.items():
        assert (use.drafted, use.taken) == (drafted[by == name].sum(), (by == name).sum())
        assert 0 < use.taken <= use.offered <= use.asked <= 300 * samples
        assert use.accepted <= use.drafted <= use.offered_tokens
    assert found.drafters["rare"].offered < 0.5 * found.drafters["rare"].asked


@pytest.mark.parametrize("samples", [1, 8])
@pytest.mark.parametrize("kept", [HONEST, lambda *_: 0.9, lambda _step, _sample, likely: likely**2])
def test_what_is_promised_comes(kept: Callable[[int, int, float], float], samples: int) -> None:
    flat = lambda rows: 1.0 if rows <= samples else 1.3  # noqa: E731
    world = World({"it": Source(kept)}, samples, cost=flat)
    controller = PayoffController(Experience(PassCosts({rows: flat(rows) for rows in LADDER})))
    speed, found = told(world, 1500, controller)
    assert found.actual_speedup == pytest.approx(speed, rel=0.05)
    assert found.predicted_speedup == pytest.approx(speed, rel=0.15)
    use = found.drafters["it"]
    assert use.expected == pytest.approx(use.accepted, rel=0.15)


def test_a_drafter_that_boasts_is_not_believed_for_long() -> None:
    _, found = told(World({"it": Source(lambda _step, _sample, likely: likely**4)}), 1500)
    assert found.predicted_speedup == pytest.approx(found.actual_speedup, rel=0.1)


@pytest.mark.parametrize("certain", [True, False])
def test_drafts_that_cost_time_are_told_with_it(certain: bool) -> None:
    world = World({"model": Source(lambda *_: 0.85, seconds=0.08, is_certain=certain, has_opinion=False)})
    speed, found = told(world, 1500)
    use = found.drafters["model"]
    assert found.actual_speedup == pytest.approx(speed, rel=0.05)
    assert found.predicted_speedup == pytest.approx(speed, rel=0.12)
    assert use.seconds == pytest.approx(0.08 * use.offered_tokens, rel=0.05)
    assert use.drafted == np.array(world.chosen).sum()


def test_why_it_stayed_plain() -> None:
    useless = Source(lambda *_: 0.02, seconds=0.0018, has_opinion=False)
    speed, found = told(World({"it": useless}, cost=lambda rows: 0.93 + 0.07 * rows), 400)
    assert found.plain[MEASURING].first == 1
    assert found.plain[MEASURING].rounds >= KNOWN
    assert found.plain[PAUSING].rounds >= 100
    stay = found.plain[NOT_WORTH_IT].to_dict()
    assert 0.8 < stay["best_speed"] < 1.02
    assert found.predicted_speedup == pytest.approx(1, abs=0.03)
    assert found.actual_speedup == pytest.approx(speed, rel=0.03)


def test_silent_drafters_and_texts_without_room_are_reasons_of_their_own() -> None:
    _, found = told(World({"it": Source(HONEST, found=0.0)}), 50)
    assert found.plain[NOTHING_OFFERED].rounds > 0
    controller = PayoffController()
    controller.budget([Asker(0, 0, ())])
    controller.choose([Asker(0, 0, ())], [{}], {})
    assert list(controller.account.explanation().plain) == [NO_ROOM]


def test_a_pass_that_computed_a_prompt_is_in_no_width() -> None:
    account = Account(Experience())
    one = Round(0, (1,), (), (), (), 0, 0, seconds=1.0)
    for rows, others in ((300, []), (2, [replace(one, sample=5)]), (2, [])):
        account.begin({0}, [Asker(0, 7, ("it",))], [{}], {})
        account.plain(PAUSING)
        account.saw([one, *others], rows, 1 + len(others))
    assert [passes.rounds for passes in account.explanation().widths.values()] == [1]


def test_what_others_decided_is_not_told() -> None:
    account = Account(Experience())
    account.begin({0}, [Asker(0, 7, ("it",))], [{"it": Proposal.chain([1, 2])}], {"it": 0.5})
    account.drafted([Asker(0, 7, ("it",))], [Choice("it", np.array([0, 1]))], [(1.4, 0.0)])
    mine = Round(0, (1, 2, 3), (), (), (), 2, 2, seconds=1.0, source="it")
    account.saw([mine, replace(mine, sample=1, source="other")], 6, 6)
    found = account.explanation()
    assert {name: (use.drafted, use.accepted, use.expected) for name, use in found.drafters.items()} == {
        "it": (2, 2, 1.4)
    }
    assert found.widths == {}
    assert (found.predicted_speedup, found.actual_speedup) == (None, None)


@pytest.mark.parametrize("drafted", [0, 1, 3])
def test_of_drafts_that_did_not_come_none_was_expected(drafted: int) -> None:
    account, asker = Account(Experience()), Asker(0, 7, ("it",))
    account.begin({0}, [asker], [{}], {})
    account.drafted([asker], [Choice("it", tokens=3)], [(2.5, 0.0)])
    mine = Round(0, (1,), (), (), (), drafted, 0, seconds=1.0, source="it" if drafted else "", late_seconds=0.1)
    account.saw([mine], 1 + drafted, 4)
    use = account.explanation().drafters["it"]
    assert (use.asked, use.drafted, use.expected) == (1, drafted, min(drafted, 2.5))


def test_runs_add_up() -> None:
    found = [told(World({"it": Source(HONEST)}, samples), 100)[1] for samples in (1, 2)]
    both = together([found[0], None, found[1]])
    assert both is not None
    assert (both.rounds, both.draft_rounds) == (200, found[0].draft_rounds + found[1].draft_rounds)
    assert both.drafters["it"].drafted == sum(each.drafters["it"].drafted for each in found)
    assert both.plain[MEASURING].rounds == sum(each.plain[MEASURING].rounds for each in found)
    speeds = sorted(each.actual_speedup or 0 for each in found)
    assert speeds[0] <= (both.actual_speedup or 0) <= speeds[1]
    assert together([None]) is None
    assert together([found[0]]).to_dict() == found[0].to_dict()  # type: ignore[union-attr]


def test_what_was_told_does_not_change_afterwards() -> None:
    controller, world = PayoffController(), World({"it": Source(HONEST)})
    _, before = told(world, 100, controller)
    copy = before.to_dict()
    world.run(controller, 50)
    assert before.to_dict() == copy
    assert controller.account.explanation().rounds == 150


def test_a_drafter_that_is_asked_late_and_has_nothing_is_told_so() -> None:
    account = Account(Experience())
    asker = Asker(0, 7, ("it",))
    account.begin({asker.sample}, [asker], [{}], {})
    account.drafted([asker], [Choice("it", tokens=2)], [(1.1, 0.0)])
    account.saw([Round(0, (1,), (), (), (), 0, 0, draft_seconds=0.25, late_seconds=0.25, seconds=1.0)], 2, 3)
    found = account.explanation()
    assert (found.draft_rounds, list(found.plain)) == (0, [NOTHING_OFFERED])
    use = found.drafters["it"]
    assert (use.asked, use.offered, use.taken, use.seconds) == (1, 0, 0, 0.25)


def test_what_drafters_took_is_told_of_whoever_was_asked() -> None:
    account = Account(Experience())
    account.begin({0}, [Asker(0, 7, ("one", "two"))], [{"one": Proposal.chain([1])}], {"one": 0.5, "two": 0.25})
    found = account.explanation()
    assert {name: (use.asked, use.seconds) for name, use in found.drafters.items()} == {
        "one": (1, 0.5),
        "two": (0, 0.25),
    }


def test_rounds_in_which_nobody_is_asked_are_rounds() -> None:
    account = Account(Experience())
    account.rests({0, 1}, PAUSING)
    account.rests({0, 1}, PAUSING)
    found = account.explanation()
    assert (found.rounds, found.plain[PAUSING].rounds, found.plain[PAUSING].last) == (2, 2, 2)


def test_a_speed_counts_where_it_was_weighed() -> None:
    account = Account(Experience())
    for speed in (None, 0.75, None, 1.0):
        account.begin({0}, [Asker(0, 7, ("it",))], [{}], {})
        account.plain(NOT_WORTH_IT, speed)
    assert account.explanation().plain[NOT_WORTH_IT].to_dict()["best_speed"] == 0.875


def test_a_round_that_nobody_decided_for_is_not_told() -> None:
    """The decision of the one before is over with it."""
    account = Account(Experience())
    account.begin({0}, [Asker(0, 7, ("it",))], [{}], {})
    account.plain(NOT_WORTH_IT)
    for _ in range(3):
        account.saw([Round(0, (1,), (), (), (), 0, 0, seconds=1.0)], 1, 1)
    assert [passes.rounds for passes in account.explanation().widths.values()] == [1]


def test_what_asking_took_for_nothing_stands_with_the_reason_and_not_with_the_pass() -> None:
    known, asker = Experience(), Asker(0, 7, ("it",))
    for _ in range(FIRST):
        known.of("it", asker.coupled).pace.add(0.25, 1)
    account = Account(known)
    account.begin({asker.sample}, [asker], [{"it": Proposal.chain([1])}], {"it": 0.5})
    account.plain(NOT_WORTH_IT)
    account.saw([Round(0, (1,), (), (), (), 0, 0, draft_seconds=0.5, seconds=2.0)], 1, 1)
    found = account.explanation()
    stay, (passes,) = found.plain[NOT_WORTH_IT].to_dict(), found.widths.values()
    assert (stay["asking_seconds"], stay["expected_asking_seconds"]) == (0.5, 0.25)
    assert passes.seconds == 1.5
    assert passes.expected_seconds == pytest.approx(passes.plain_seconds)


def test_it_is_told_while_the_sums_go_on() -> None:
    """Another thread may ask in the middle of a round, and the sums may go on in the middle of the answer."""
    known, names = Experience(), count()
    account = Account(known)

    def go_on() -> None:
        number = min(next(names), 300)  # new ones while that is asked; all that come would make it slow
        one, other = f"a{number}", f"b{number}"
        account.begin({0}, [Asker(0, 7, (one, other))], [{one: Proposal.chain([1]), other: Proposal.chain([1])}], {})
        account.weighed({one: 1.0, other: 2.0})
        account.plain(one)
        account.saw([Round(0, (1,), (), (), (), 0, 0, seconds=1.0)], 5 + number, 5 + number)

    def tell() -> None:
        found = account.explanation()
        json.dumps([found.to_dict(), found.predicted_speedup])

    go_on()
    between(tell, go_on, "account.py", "explanation.py", "experience.py")
    between(go_on, tell, "account.py", "explanation.py")
    account._sums.rivalries["a", "b"], account._passes[1, 1] = Rivalry(), Passes()  # just come, and nothing in them yet
    tell()
    found = account.explanation()
    assert found.rounds == sum(passes.rounds for passes in found.widths.values()) > 0
    assert ("a", "b") not in found.rivalries
    assert (1, 1) not in found.widths


def test_rounds_before_any_draft_are_not_said_to_have_lost_by_drafts() -> None:
    world, controller = World({"head": Source(lambda *_: 0.9, seconds=0.05, is_certain=False)}), PayoffController()
    world.run(controller, 15)
    found = controller.account.explanation()
    assert found.draft_rounds
    assert WAITING in found.plain
    assert PAUSING not in found.plain


@pytest.mark.parametrize(("before", "after"), [(3.0, 1.0), (1.0, 3.0), (1.0, 1.5)])
def test_what_was_gained_is_told_whatever_became_of_the_machine(before: float, after: float) -> None:
    """Plain passes of a slow hour are those of that hour."""
    speed = lambda step: before if step < 1000 else after  # noqa: E731
    source = Source(lambda *_: 0.6, seconds=0.08, is_certain=False, has_opinion=False)
    world, controller = World({"it": source}, cost=lambda rows: 0.93 + 0.07 * rows, speed=speed), PayoffController()
    rng, plain, tokens = np.random.default_rng(0), 0.0, 0
    for step in range(2000):
        world._round(controller, step, rng)
        plain, tokens = plain + (world.tokens - tokens) * speed(step), world.tokens
    assert controller.account.explanation().actual_speedup == pytest.approx(plain / world.seconds, rel=0.15)
