"""The controller in simulated worlds: it comes close to the one that knows everything, and notices changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from control.worlds import MOST, Source, World, best_speed, table
from truedraw.control import pause
from truedraw.control.costs import PassCosts
from truedraw.control.experience import Experience
from truedraw.control.offers import Offer
from truedraw.control.payoff import PayoffController
from truedraw.control.standing import ROUNDS
from truedraw.control.table import LADDER
from truedraw.control.weighing import Weighing
from truedraw.protocol import Asker, Proposal, Round

OPINIONS = {
    "honest": lambda _step, _sample, likely: likely,
    "boastful": lambda _step, _sample, likely: likely**3,
    "modest": lambda _step, _sample, likely: likely**0.4,
    "useless": lambda *_: 0.02,
    "perfect": lambda *_: 0.97,
}


def steep(rows: int) -> float:
    """An engine on which every row costs a quarter of a pass."""
    return 0.75 + 0.25 * rows


def reached(world: World, warm: int = 50, rounds: int = 2000, seeds: int = 2) -> float:
    """Mean speed after `warm` rounds."""
    found = []
    for seed in range(seeds):
        controller = PayoffController(Experience(PassCosts({rows: world.cost(rows) for rows in LADDER})))
        replace(world, chosen=[], by=[], still={}).run(controller, warm, seed)
        found.append(replace(world, chosen=[], by=[], still={}).run(controller, rounds // world.samples, seed + 100))
    return float(np.mean(found))


@pytest.mark.parametrize("opinion", OPINIONS)
@pytest.mark.parametrize("samples", [1, 4, 16])
@pytest.mark.parametrize("cost", [None, steep], ids=["table", "steep"])
def test_within_five_per_cent_of_the_one_that_knows(opinion: str, samples: int, cost) -> None:
    world = World({"it": Source(OPINIONS[opinion])}, samples, **({} if cost is None else {"cost": cost}))
    assert reached(world) > 0.95 * best_speed(world)


@pytest.mark.slow
@pytest.mark.parametrize("found", [0.1, 0.5])
def test_a_drafter_that_seldom_finds_anything(found: float) -> None:
    """It holds back more than the one that knows: a change of shape, which costs nothing here, costs on an engine."""
    world = World({"it": Source(OPINIONS["honest"], found=found)})
    assert reached(world) > 0.9 * best_speed(world)


def test_the_better_of_two_drafters_is_taken_round_by_round() -> None:
    pair = {"good": Source(OPINIONS["honest"]), "bad": Source(OPINIONS["boastful"])}
    both = reached(World(pair))
    assert both > 1.2 * reached(World({"bad": pair["bad"]}))
    assert both > 0.88 * reached(World({"good": pair["good"]}))  # fates are those of the one taken


def test_drafters_whose_opinion_lies_are_believed_as_far_as_they_were_right() -> None:
    liar = Source(lambda _step, _sample, likely: 1 - likely)
    assert reached(World({"liar": liar})) > 0.95 * best_speed(World({"liar": liar}))


@pytest.mark.parametrize("samples", [4, 16])
def test_the_rows_go_to_the_texts_that_repeat_themselves(samples: int) -> None:
    chance = lambda _step, sample, _likely: 0.9 if sample % 4 == 0 else 0.02  # noqa: E731
    world = World({"it": Source(chance, has_opinion=False)}, samples)
    controller = PayoffController()
    assert world.run(controller, 300) > 0.85 * best_speed(world)
    late = np.mean(world.chosen[100:], axis=0)
    assert late[::4].mean() > 4 * np.delete(late, np.s_[::4]).mean()


@pytest.mark.parametrize("samples", [1, 8, 64])
def test_next_to_nothing_is_lost_where_nothing_is_kept(samples: int) -> None:
    costly = Source(lambda *_: 0.0, seconds=0.002 / samples)
    speeds = [World({"it": costly}, samples).run(PayoffController(), 200, seed) for seed in range(5)]
    assert np.mean(speeds) > 0.98


def test_offers_that_are_rare_and_dear_to_make_are_charged_for() -> None:
    """A call in twenty took .7 of a pass and the others nothing: the mean had left it out as an accident, and .91 of
    plain sampling was all that came."""
    rare = Source(lambda _step, _sample, likely: 0.3 * likely, found=0.05, seconds=0.1)
    assert reached(World({"it": rare}, noise=0.02), warm=400) > 0.97


def test_a_drafter_that_brings_nothing_beside_another_is_asked_seldom() -> None:
    """Both are cheap, so both were asked in every round in which one of them drafted."""
    useful = Source(lambda _step, _sample, likely: 0.8 * likely, found=0.3)
    useless = Source(lambda *_: 0.05, found=0.1, seconds=0.1, has_opinion=False)
    alone = reached(World({"useful": useful}, 4), warm=200)
    assert alone > 1.1
    assert reached(World({"useful": useful, "useless": useless}, 4), warm=200) > 0.95 * alone


def test_it_recovers_when_the_text_changes_its_nature() -> None:
    changing = Source(lambda step, *_: 0.9 if 300 <= step < 600 else 0.02, has_opinion=False)
    world = World({"it": changing})
    world.run(PayoffController(), 900)
    drafted = np.array(world.chosen)[:, 0]
    assert drafted[350:600].mean() > 6
    assert drafted[100:300].mean() < 3
    assert drafted[660:].mean() < 3


# --------------------------------------------------------------------------------- drafts that have to be asked for


@pytest.mark.parametrize("certain", [True, False], ids=["certain", "drawn"])
def test_a_costly_drafter_is_used_when_it_pays(certain: bool) -> None:
    good = Source(lambda *_: 0.85, seconds=0.08, is_certain=certain, has_opinion=False)
    world = World({"model": good})
    assert reached(world) > 0.93 * max(
        (1 + sum(0.85**j for j in range(1, k + 1))) / (world.cost(1 + k) + 0.08 * k) for k in range(1, MOST)
    )


def test_a_costly_drafter_is_left_alone_when_it_does_not_pay_and_looked_at_again() -> None:
    chance = lambda step, *_: 0.9 if step > 400 else 0.1  # noqa: E731
    world = World({"model": Source(chance, seconds=0.3, is_certain=False)})
    assert world.run(PayoffController(), 400) > 0.96
    controller = PayoffController()
    world = World({"model": Source(chance, seconds=0.3, is_certain=False)})
    world.run(controller, 1000)
    assert np.mean(np.array(world.chosen)[800:, 0]) > 1


def test_a_costly_drafter_gives_way_to_a_certain_draft_that_is_worth_more() -> None:
    sources = {
        "lookup": Source(OPINIONS["perfect"], found=0.5),
        "model": Source(lambda *_: 0.7, seconds=0.05, is_certain=False, has_opinion=False),
    }
    world = World(sources)
    world.run(PayoffController(), 500)
    late = [names[0] for names in world.by[200:]]
    assert late.count("lookup") > 50
    assert late.count("model") > 60


# ------------------------------------------------------------------------------------------------------ real machines


def best_of_chains(world: World, kept: float, seconds: float) -> float:
    """Of drafting as much in every round, or nothing."""
    n, cost = world.samples, world.cost
    found = [
        (1 + sum(kept**j for j in range(1, k + 1))) * cost(n) / (cost(n + n * k) + seconds * k * n) for k in range(8)
    ]
    return max(found)


CHAINS = ((1, 0.45, 0.05), (1, 0.3, 0.05), (2, 0.6, 0.08), (4, 0.45, 0.05), (4, 0.3, 0.05), (8, 0.45, 0.05))


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize(("samples", "kept", "seconds"), CHAINS)
def test_a_model_that_drafts_comes_near_its_best_chains(samples: int, kept: float, seconds: float, holds: bool) -> None:
    """From the first round on, on an engine that holds on to row counts and pays for changing them as well."""
    source = Source(lambda *_: kept, seconds=seconds, is_certain=False, has_opinion=False)
    worlds = [World({"model": source}, samples, holds=holds, noise=0.05) for _ in range(4)]
    speed = np.mean([world.run(PayoffController(), 400, seed) for seed, world in enumerate(worlds)])
    assert speed > 0.93 * best_of_chains(worlds[0], kept, seconds)


@pytest.mark.parametrize(("beside", "least"), [(3, 8), (30, 0.9)])
def test_others_in_the_pass_do_not_keep_anybody_from_drafting(beside: int, least: float) -> None:
    """Their texts draft nothing, or what somebody else decides, and no pass has as few rows as the one text alone."""
    world = World({"it": Source(lambda *_: 0.9)}, beside=beside)
    assert world.run(PayoffController(), 400) > 1.5
    assert np.mean(np.array(world.chosen)[100:]) > least


def test_a_prompt_in_every_pass_does_not_keep_anybody_from_drafting() -> None:
    world = World({"it": Source(lambda *_: 0.9)}, cost=lambda rows: table(rows + 200), beside=0)
    controller = PayoffController()
    observe = controller.observe
    controller.observe = lambda rounds: observe([replace(done, pass_rows=done.pass_rows + 200) for done in rounds])
    world.run(controller, 300)
    assert np.mean(np.array(world.chosen)[100:]) > 2


def test_passes_that_change_their_rows_each_time_leave_the_prices_right() -> None:
    """A prompt in every second pass: each pass has other rows than the one before it."""
    source = Source(lambda *_: 0.45, seconds=0.05, is_certain=False, has_opinion=False)
    world, controller = World({"model": source}, noise=0.05), PayoffController()
    rng = np.random.default_rng(0)
    cost = world.cost
    observe = controller.observe
    for step in range(1500):
        more = 200 * (step % 2)
        world.cost = lambda rows, more=more: cost(rows + more)
        controller.observe = lambda rounds, more=more: observe(
            [replace(done, pass_rows=done.pass_rows + more) for done in rounds]
        )
        world._round(controller, step, rng)
    assert np.mean(np.array(world.chosen)[500:]) > 1
    assert controller._costs.seconds(1) == pytest.approx(1.0, rel=0.25)


def test_one_slow_round_of_drafts_does_not_end_them() -> None:
    world, controller = World({"it": Source(lambda *_: 0.8)}, holds=True), PayoffController()
    rng = np.random.default_rng(0)
    observe, slow = controller.observe, [5.0]

    def observed(rounds):
        rest = slow.pop() if slow and any(done.drafted for done in rounds) else 0.02
        observe([replace(done, seconds=done.seconds + rest) for done in rounds])

    controller.observe = observed
    for step in range(300):
        world._round(controller, step, rng)
    assert not slow
    assert np.mean(np.array(world.chosen)[100:]) > 5


def test_plain_passes_are_priced_anew_where_wide_ones_are_dearer_than_the_table_says() -> None:
    chance = lambda step, *_: 0.93 if step < 4000 else 0.5  # noqa: E731
    source = Source(chance, is_certain=False, has_opinion=False)
    world, controller = World({"model": source}, cost=lambda rows: 1 + 0.343 * (rows - 1)), PayoffController()
    world.run(controller, 7000)
    world.tokens, world.seconds = 0, 0.0
    assert world.run(controller, 2000) > 1.0


@pytest.mark.parametrize("cost", [{1: 1, 2: 1.5, 4: 2, 8: 3.4, 16: 6}, {1: 1, 2: 1.5, 3: 1.52, 16: 3}], ids=str)
@pytest.mark.parametrize("kept", [0.3, 0.5])
def test_a_width_that_nobody_has_run_is_not_thought_cheaper_than_a_smaller_one_was(cost, kept) -> None:
    """Or it would be chosen, and never run: what is offered is cut to what pays."""
    source = Source(lambda *_: kept, seconds=0.08, is_certain=False)
    world = World({"head": source}, cost=lambda rows: float(np.interp(rows, [*cost], [*cost.values()])))
    assert world.run(PayoffController(Experience()), 4000) > 0.96


def test_rows_that_fill_up_a_pass_are_told_apart_from_those_of_texts() -> None:
    controller = PayoffController()
    for _ in range(20):
        asker = Asker(0, 7, ())
        controller.budget([asker])
        controller.choose([asker], [{}], {})
        controller.observe([Round(0, (1,), (), (), (), 0, 0, engine_seconds=1.0, pass_rows=1, padding_rows=7)])
    costs = controller._costs
    assert (costs.passes(1), costs.passes(8)) == (0, 0)
    assert costs.seconds(1) < 1.0


def test_what_is_computed_beside_the_texts_is_counted_as_far_as_it_lasts() -> None:
    controller = PayoffController()
    asker = Asker(0, 7, ())

    def passed(beside: int) -> tuple[int, int]:
        controller.budget([asker])
        filled = controller._width.filled(1)
        controller.choose([asker], [{}], {})
        others = [Round(9 + i, (1,), (), (), (), 0, 0, pass_rows=1 + beside) for i in range(beside)]
        controller.observe([Round(0, (1,), (), (), (), 0, 0, engine_seconds=1.0, pass_rows=1 + beside), *others])
        return filled

    assert [passed(30) for _ in range(4)] == [(1, 1)] * 3 + [(31, 31)]
    assert [passed(beside) for beside in (0, 200, 200)] == [(31, 31), (1, 1), (1, 1)]


def test_a_machine_that_becomes_slower_changes_nothing() -> None:
    """What plain passes took while it was fast is not held against those with drafts."""
    source = Source(lambda *_: 0.45, seconds=0.0, is_certain=False, has_opinion=False)
    world = World({"model": source}, holds=True, noise=0.05, speed=lambda step: 2.0 if step > 1000 else 1.0)
    world.run(PayoffController(), 2000)
    drafted = np.array(world.chosen)[:, 0]
    assert drafted[1000:].mean() == pytest.approx(drafted[200:1000].mean(), rel=0.4)


# ------------------------------------------------------------------------------------------------------- the contract


def test_what_was_drawn_to_be_weighed_is_thrown_away() -> None:
    """Weighing drawn tokens by their values would bias the text (algorithm L2)."""
    drawn = Source(lambda *_: 0.5, is_certain=False)
    world = World({"drawn": drawn, "certain": Source(OPINIONS["honest"])})
    controller, weighed = PayoffController(), []
    choose = controller.choose

    def watched(askers, offers, seconds):
        choices = choose(askers, offers, seconds)
        weighed.extend(choice for offer, choice in zip(offers, choices, strict=True) if offer.get("drawn"))
        return choices

    controller.choose = watched
    world.run(controller, 200)
    assert weighed
    assert all(choice.source != "drawn" or choice.nodes is None for choice in weighed)


def test_of_a_long_draft_from_laws_nothing_is_taken() -> None:
    controller, asker = PayoffController(), Asker(0, 7, ("drawn",), {})
    for _ in range(20):
        controller._costs.add(1, 1.0)
    drawn = Proposal.chain([1] * 7, [np.ones(2) / 2] * 7, np.full(7, 0.99))
    for _ in range(9):
        controller.budget([asker])
        assert controller.choose([asker], [{"drawn": drawn}], {"drawn": 1e-6})[0].nodes is None
        controller.observe([Round(0, (1,), (), (), (), 0, 0, engine_seconds=1.0, pass_rows=1)])


def test_rooms_are_kept() -> None:
    controller, source = PayoffController(), Source(OPINIONS["perfect"])
    rng = np.random.default_rng(0)
    for _ in range(80):
        askers = [Asker(i, room, ("it",) if room else ()) for i, room in enumerate((4, 1, 0))]
        wishes = controller.budget(askers)
        assert all(n <= asker.room for asker, wish in zip(askers, wishes, strict=True) for n in wish.values())
        offers = [{name: source.offer(rng, n) for name, n in wish.items()} for wish in wishes]
        choices = controller.choose(askers, offers, {"it": 1e-6})
        taken = [0 if c.nodes is None else len(c.nodes) for c in choices]
        rounds = [Round(i, (0,) * (n + 1), (), (), (), n, n, engine_seconds=0.4, seconds=0.4,
                        pass_rows=3 + sum(taken), source="it")
                  for i, n in enumerate(taken)]  # fmt: skip
        controller.observe(rounds)
    assert taken == [4, 1, 0]


def test_rounds_without_a_pass_cost_nothing() -> None:
    known, other = Experience(), Experience()
    for experience in (known, other):
        World({"it": Source(OPINIONS["honest"])}).run(PayoffController(experience), 40)
    PayoffController(other).observe([Round(0, (1,), (), (), (), 0, 0, seconds=50.0, pass_rows=0)])
    assert [known.costs.seconds(rows) for rows in (1, 4, 8)] == [other.costs.seconds(rows) for rows in (1, 4, 8)]


def test_drafters_that_are_no_use_are_asked_seldom() -> None:
    world, asked = World({"it": Source(lambda *_: 0.0, seconds=0.0005)}, 16), []
    controller = PayoffController()
    budget = controller.budget

    def counted(askers):
        wishes = budget(askers)
        asked.append(any(wishes))
        return wishes

    controller.budget = counted
    world.run(controller, 100)
    asked.clear()
    world.run(controller, 500)
    assert 500 / pause.LONGEST / 2 < sum(asked) < 250


def test_what_one_job_has_learnt_serves_the_next() -> None:
    experience = Experience()
    liar = Source(lambda _step, _sample, likely: 1 - likely)
    World({"it": liar}).run(PayoffController(experience), 300)
    first = World({"it": liar}).run(PayoffController(), 20)
    assert World({"it": liar}).run(PayoffController(experience), 20) > first


def test_a_proposal_keeps_the_nodes_it_is_left() -> None:
    law = np.full(2, 0.5)
    tree = Proposal(np.array([7, 8, 9, 6]), np.array([-1, -1, 0, 2]), (None, law, None, None), np.arange(4) / 4)
    left = tree.only(np.array([0, 2]))
    assert left.tokens.tolist() == [7, 9]
    assert left.parents.tolist() == [-1, 0]
    assert left.laws == (None, None)
    assert left.confidence.tolist() == [0.0, 0.5]
    assert tree.only(np.arange(4)) is tree
    assert len(tree.only(np.array([], np.int64))) == 0


def test_a_cheap_drafter_is_not_forgotten_beside_a_costly_one_that_does_not_pay() -> None:
    chance = lambda step, *_: 0.95 if step > 300 else 0.0  # noqa: E731
    sources = {
        "cheap": Source(chance, seconds=0.001, has_opinion=False),
        "dear": Source(lambda *_: 0.0, seconds=0.4, is_certain=False),
    }
    world = World(sources, 4)
    world.run(PayoffController(), 600)
    assert np.mean(np.array(world.chosen)[500:]) > 3


def test_one_text_is_enough_for_a_look(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.control.payoff.perf_counter", lambda: 0.0)
    world = World({"dear": Source(lambda *_: 0.0, seconds=0.4, is_certain=False)}, 16)
    world.run(PayoffController(), 400)
    assert max(sum(row) for row in world.chosen[60:]) == 1


def test_what_it_takes_to_decide_is_no_part_of_what_a_drafted_round_takes(monkeypatch) -> None:
    """Where looks alone draft, each of their rounds is decided anew."""
    clock, asker = count(), Asker(0, 5, ("it",))
    monkeypatch.setattr("truedraw.control.payoff.perf_counter", lambda: 0.1 * next(clock))
    controller = PayoffController()
    known = controller._known
    for _ in range(12):
        controller.budget([asker])
        controller.choose([asker], [{}], {})
        controller.observe([Round(0, (0,), (), (), (), 1, 0, engine_seconds=1.0, seconds=1.5, pass_rows=2)])
    controller.budget([asker])
    assert known.upkeep.seconds(1, 1) == pytest.approx(0.5 - 0.2)


@pytest.mark.parametrize(("is_made", "share"), [(False, 1 / ROUNDS), (True, 1.0)])
def test_what_it_takes_to_decide_weighs_on_drafts_by_the_rounds_that_decisions_stand_for(
    monkeypatch, is_made, share
) -> None:
    """All of it, and of asking, on those that were made for one round."""
    controller, given = PayoffController(), []
    monkeypatch.setattr("truedraw.control.payoff.perf_counter", lambda: 0.0)
    monkeypatch.setattr(controller._width, "settle", lambda _samples, offering: given.append(offering))
    monkeypatch.setattr(controller._weighing._yardstick, "is_due", lambda *_: False)
    monkeypatch.setattr(Weighing, "_best", lambda *_: Offer("it", [0.5], is_made))
    controller._deciding.add(0.8)
    controller._present = {0}
    controller.choose([Asker(0, 5, ("it",))], [{"it": Proposal.chain([1])}], {"it": 0.4})
    assert given == pytest.approx([(0.8 + 0.4) * share])
