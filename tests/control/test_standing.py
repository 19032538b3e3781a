"""A decision for drafts yet to be made stands for some rounds, and for nobody else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from control.worlds import MOST, Source, World
from truedraw.control.explanation import Passes
from truedraw.control.late import Late
from truedraw.control.payoff import PayoffController
from truedraw.control.standing import FIRST, ROUNDS, Standing
from truedraw.protocol import Asker, Choice, Proposal, Round

HERE = [Asker(1, 5, ("head",), {}, False), Asker(2, 5, ("head", "suffix"), {}, True)]
CHOICES = [Choice("head", tokens=2), Choice()]
NOBODY = [{}, {}]  # was asked
NONE = [{}, {"suffix": Proposal.chain([])}]
SOME = [{}, {"suffix": Proposal.chain([7])}]
TAKEN = [Choice("head", tokens=2), Choice("suffix", np.array([0]))]


def kept(offers=NOBODY, choices=CHOICES) -> Standing:
    standing = Standing()
    standing.keep(10, HERE, offers, list(choices))
    return standing


def test_it_stands_for_some_rounds() -> None:
    standing, step = Standing(), 10
    for span in (ROUNDS // 2, ROUNDS, ROUNDS):
        standing.keep(step, HERE, NOBODY, list(CHOICES))
        held = [standing.at(step + ahead, HERE) for ahead in range(1, span + 1)]
        assert held == [*[CHOICES] * (span - 1), None]
        step += span


@pytest.mark.parametrize(
    "askers",
    [
        HERE[:1],
        HERE[::-1],
        [*HERE, Asker(3, 5, (), {}, False)],
        [replace(HERE[0], room=1), HERE[1]],
        [replace(HERE[0], coupled=True), HERE[1]],
        [replace(HERE[0], sources=()), HERE[1]],
        [replace(HERE[0], sample=9), HERE[1]],
    ],
    ids=["fewer", "another order", "more", "less room", "another rule", "fewer sources", "another text"],
)
def test_for_others_it_is_weighed_anew(askers) -> None:
    assert kept().at(11, askers) is None


def test_less_room_that_is_enough() -> None:
    assert kept().at(11, [replace(HERE[0], room=2), HERE[1]]) == CHOICES


@pytest.mark.parametrize("offers", [NONE, SOME])
def test_where_offers_were_not_taken_it_stands_for_longer_each_time(offers) -> None:
    """So they are asked for less often, and often again once they are of use."""
    standing, step = Standing(), 10
    for span in (FIRST, 2 * FIRST, 4 * FIRST, ROUNDS, ROUNDS):
        standing.keep(step, HERE, offers, list(CHOICES))
        held = [standing.at(step + ahead, HERE) for ahead in range(1, span + 1)]
        assert held == [*[CHOICES] * (span - 1), None]
        step += span
    standing.keep(step, HERE, SOME, list(TAKEN))
    assert standing.at(step + 1, HERE) is None
    standing.keep(step + 1, HERE, offers, list(CHOICES))
    assert [standing.at(step + 1 + ahead, HERE) for ahead in (1, 2)] == [CHOICES, None]


def test_what_was_taken_of_offers_is_for_one_round() -> None:
    assert kept(SOME, TAKEN).at(11, HERE) is None


def test_for_other_texts_offers_are_asked_for_often_again() -> None:
    standing = Standing()
    for step in (10, 12, 16, 24):
        standing.keep(step, HERE, NONE, list(CHOICES))
    assert standing._span == ROUNDS
    assert standing.at(24 + ROUNDS, HERE) is None
    assert standing._span == ROUNDS  # its time was over
    standing.keep(40, HERE, NONE, list(CHOICES))
    assert standing.at(41, [*HERE, Asker(3, 5, ("suffix",))]) is None
    assert standing._span == 1


def test_another_text_in_between_ends_it() -> None:
    standing = kept()
    assert standing.at(11, HERE[:1]) is None
    assert standing.at(12, HERE) is None


def test_it_is_dropped() -> None:
    standing = kept()
    standing.drop()
    assert standing.at(11, HERE) is None


def turn(controller: PayoffController, asker: Asker, offers=None) -> Choice:
    """A round of one text."""
    controller.budget([asker])
    (choice,) = controller.choose([asker], offers or [{}], {})
    rows = choice.tokens
    done = Round(asker.sample, (0,), (), (), (), rows, 0, draft_seconds=0.08 * rows, engine_seconds=1.0, seconds=1.0,
                 pass_rows=1 + rows, source=choice.source)  # fmt: skip
    controller.observe([done])
    return choice


def standing_controller() -> tuple[PayoffController, Asker]:
    """One that holds a decision."""
    controller, asker = PayoffController(), Asker(0, MOST, ("model",))
    kept_often = Source(lambda *_: 0.85, seconds=0.08, is_certain=False, has_opinion=False)
    World({"model": kept_often}).run(controller, 200)
    while not controller._standing._choices:
        assert turn(controller, asker).tokens
    return controller, asker


def test_one_text_does_not_take_over_what_was_decided_before_another_one() -> None:
    """Evicted for want of pages, say, while a text of another kind ran."""
    controller, asker = standing_controller()
    turn(controller, Asker(7, MOST, ("other",), {}, True))
    assert not controller._standing._choices
    assert turn(controller, asker).source == "model"


def test_a_measurement_waits_for_it_and_is_for_one_round(monkeypatch) -> None:
    controller, asker = standing_controller()
    with monkeypatch.context() as patch:
        patch.setattr(controller._weighing._yardstick, "is_due", lambda *_: True)
        while controller._standing.lasts(controller._step + 1):
            assert turn(controller, asker).tokens
        assert turn(controller, asker, [{"x": Proposal.chain([1, 2])}]) == Choice()
    assert not controller._standing._choices
    choice = turn(controller, asker)
    assert controller._weighing.rows == choice.tokens > 0


def test_a_look_is_for_one_round(monkeypatch) -> None:
    controller, asker = standing_controller()
    monkeypatch.setattr(controller._late, "look", lambda *_: (0, "model"))
    controller._standing.drop()
    assert turn(controller, asker).tokens == 1
    assert not controller._standing._choices


def test_a_rest_ends_it() -> None:
    controller, _ = standing_controller()
    controller._next = controller._step + 3
    assert controller.rest([0]) == [2]
    assert not controller._standing._choices


def test_plain_sampling_is_held_by_pauses_and_not_here() -> None:
    assert kept(choices=[Choice(), Choice()]).at(11, HERE) is None


def test_what_is_handed_out_is_the_callers_own() -> None:
    standing = kept()
    standing.at(11, HERE)[0] = Choice()
    assert standing.at(12, HERE) == CHOICES


def run(monkeypatch, rounds: int = 600) -> tuple[int, World, PayoffController]:
    """Times that late sources were weighed."""
    weighed = []
    weigh = Late.weigh

    def counted(self, *given):
        weighed.append(given)
        return weigh(self, *given)

    monkeypatch.setattr(Late, "weigh", counted)
    controller = PayoffController()
    world = World({"model": Source(lambda *_: 0.85, seconds=0.08, is_certain=False, has_opinion=False)})
    world.run(controller, rounds)
    return len(weighed), world, controller


def test_the_controller_weighs_seldom_and_drafts_as_much(monkeypatch) -> None:
    weighed, world, controller = run(monkeypatch)
    assert 600 / ROUNDS - 20 < weighed < 200
    assert np.mean(np.array(world.chosen)[100:, 0]) > 3
    explained = controller.account.explanation().drafters["model"]
    assert explained.asked > 500
    assert explained.expected == pytest.approx(explained.accepted, rel=0.1)


def test_without_standing_it_weighs_in_every_round(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.control.standing.ROUNDS", 0)
    weighed, _, _ = run(monkeypatch)
    assert weighed > 550


def passes(controller: PayoffController) -> int:
    return controller._costs.num_passes


def test_rounds_of_one_decision_are_read_together() -> None:
    """And what is said about them is what would have been said at once."""
    controller, asker = standing_controller()
    controller._lessons.read()
    before, entered = passes(controller), controller.account.explanation()
    left = controller._standing._until - controller._step - 1
    for _ in range(left):
        assert passes(controller) == before
        assert turn(controller, asker).tokens
    assert passes(controller) == before + left
    assert controller._known.drafted_at == controller._known.rounds
    found = controller.account.explanation()
    assert found.rounds == entered.rounds + left
    assert found.draft_rounds == entered.draft_rounds + left
    assert found.drafters["model"].taken == entered.drafters["model"].taken + left
    assert found.drafters["model"].expected > entered.drafters["model"].expected


def test_a_decision_that_stands_is_told_with_its_rows() -> None:
    """As the loop has it, which asks first whether anybody rests."""
    controller, asker = standing_controller()
    drafted = controller._weighing.rows
    assert drafted > 0
    before = controller.account.explanation().widths.get((1, drafted), Passes()).rounds
    left = controller._standing._until - controller._step - 1
    assert left > 1
    for _ in range(left):
        assert controller.rest([0]) == [0]
        assert turn(controller, asker).tokens
    assert controller.account.explanation().widths[1, drafted].rounds == before + left


def test_what_is_read_together_teaches_the_same() -> None:
    def taught(reads: bool):
        controller, asker = standing_controller()
        for number in range(60):
            if not any(controller.rest([0])):
                controller.budget([asker])
                (choice,) = controller.choose([asker], [{}], {})
                rows, source = choice.tokens, choice.source
            else:
                rows, source = 0, ""
            took = 1.0 + 0.1 * rows + 0.01 * (number % 3)
            controller.observe([
                Round(0, (0,), (), (), (), rows, min(rows, number % 2), draft_seconds=0.08 * rows, engine_seconds=took,
                      seconds=took + 0.1 + 0.08 * rows, pass_rows=1 + rows, source=source,
                      late_seconds=0.08 * rows if rows else None)
            ])  # fmt: skip
            if reads:
                controller._lessons.read()
        known, found = controller._known, controller.account.explanation()
        record = known.of("model")
        use = found.drafters["model"]
        return (known.round_seconds(4, 1, 3), *record.pace.rates, *record.acceptance.gains()), (
            found.rounds, found.draft_rounds, use.accepted, use.drafted, use.asked, use.taken,
        )  # fmt: skip

    at_once, later = taught(reads=True), taught(reads=False)
    assert later[1] == at_once[1]
    assert later[0] == pytest.approx(at_once[0], rel=0.03)


def test_a_round_that_was_never_seen_leaves_nothing_behind() -> None:
    """Its only drafter failed, say, or the text had to wait."""
    controller, asker = standing_controller()
    for other in (Asker(7, MOST, ("other",), {}, True), replace(asker, room=1)):
        while not controller._standing._choices:
            turn(controller, asker)
        controller.budget([asker])
        controller.choose([asker], [{}], {})
        controller._lessons.read()
        entered = controller._account._sums.rounds
        turn(controller, other)
        controller._lessons.read()
        assert controller._account._sums.rounds == entered + 1


def test_a_decision_is_told_with_its_own_rounds_and_not_with_those_of_others() -> None:
    controller, asker = standing_controller()
    assert turn(controller, asker).tokens
    entered = controller.account.explanation()
    for _ in range(3):
        controller.observe([Round(5, (0,), (), (), (), 0, 0, engine_seconds=1.0, seconds=1.1, pass_rows=1)])
    found = controller.account.explanation()
    assert (found.rounds, found.plain) == (entered.rounds, entered.plain)


def test_nothing_waits_behind_the_end_of_a_text() -> None:
    controller, asker = standing_controller()
    controller._lessons.read()
    before = passes(controller)
    controller.budget([asker])
    (choice,) = controller.choose([asker], [{}], {})
    assert choice.tokens
    controller.observe([Round(0, (0,), (), (), (), 1, 0, engine_seconds=1.0, seconds=1.1, pass_rows=2,
                              finish_reason="stop")])  # fmt: skip
    assert passes(controller) == before + 1


def test_decisions_are_thought_to_stand_as_long_as_they_did():
    standing = Standing()
    assert standing.share(is_made=False) == 1 / ROUNDS
    for step in range(0, 400, 2):
        standing.keep(step, HERE, NOBODY, list(CHOICES))
    assert standing.share(is_made=False) == pytest.approx(0.5, rel=0.01)
    assert standing.share(is_made=True) == 1.0
    standing.keep(900, HERE, NOBODY, [Choice(), Choice()])  # behind plain rounds
    standing.keep(2000, HERE, NOBODY, list(CHOICES))
    assert 1 / 3 < standing.share(is_made=False) < 0.5


def test_it_is_told_beforehand_to_the_very_texts_it_is_for() -> None:
    """In their order, and for as many rounds as it stands; not where a drafter may have to be followed by another."""
    standing = kept()
    stands = standing.of(11, [1, 2])
    assert [(stand.rounds, stand.source, stand.tokens) for stand in stands] == [
        (ROUNDS // 2 - 1, "head", 2), (ROUNDS // 2 - 1, "", 0),
    ]  # fmt: skip
    assert standing.of(10 + ROUNDS // 2, [1, 2]) is None
    for others in ([1], [2, 1], [1, 2, 3], []):
        assert standing.of(11, others) is None
    assert kept(choices=[replace(CHOICES[0], then=("suffix",)), Choice()]).of(11, [1, 2]) is None


def test_a_controller_tells_several_texts_what_it_decides_for_them() -> None:
    controller = PayoffController()
    world = World({"head": Source(lambda *_: 0.8, seconds=0.05, is_certain=False)}, samples=2, cost=lambda rows: 1.0)
    said = 0
    for _ in range(200):
        stands = controller.stands([0, 1])
        world.run(controller, 1)
        if stands is not None:
            said += 1
            assert world.chosen[-1] == [stand.tokens for stand in stands]
            assert world.by[-1] == [stand.source for stand in stands]
    assert said > 50
    assert any(max(chosen) for chosen in world.chosen[-50:])
