"""How offers are weighed, and what is learnt of what became of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from truedraw.control.costs import PassCosts
from truedraw.control.experience import MOST_RECORDS, Experience
from truedraw.control.offers import Offer, Pile
from truedraw.control.opinion import FADING, LEAN_SPREAD, SPREAD, Lean, Opinion
from truedraw.control.payoff import PayoffController
from truedraw.control.shadow import Shadow
from truedraw.control.texts import Texts
from truedraw.control.width import AGE, Beside, Width, neighbours
from truedraw.protocol import NOTHING, Asker, Proposal, Round


def test_a_text_that_ended_is_forgotten():
    controller = PayoffController()
    asker = Asker(0, 7, ("it",), {})
    controller.budget([asker])
    controller.choose([asker], [{"it": Proposal.chain([1, 2])}], {"it": 1e-6})
    assert set(controller._texts._texts) == {0}
    controller.observe([Round(0, (1,), (), (), (), 0, 0, engine_seconds=1.0, pass_rows=1, finish_reason="stop")])
    assert not controller._texts._texts


def test_what_must_come_is_the_text_s_own_and_nobody_beside_it():
    controller, asker = PayoffController(), Asker(0, 7, (), {})
    for _ in range(4):
        controller.budget([asker])
        filled = controller._width.filled(1)
        controller.choose([asker], [{}], {})
        controller.observe([Round(0, (1,) * 6, (), (), (), 0, 0, forced=5, engine_seconds=1.0, pass_rows=6)])
    assert filled == (1, 1)


def test_an_offer_is_followed_to_its_end_whatever_is_offered_meanwhile(monkeypatch):
    learnt = []
    monkeypatch.setattr(Opinion, "learn", lambda _, fates, lean: learnt.extend(each[1:] for each in fates))
    texts, asker = Texts(Experience()), Asker(0, 7, ("it",), {})
    for offered, came in (([1, 2, 3], 1), ([5, 6], 2), ([7], 4)):
        texts.offers(asker, {"it": Proposal.chain(offered)})
        texts.follow(Round(0, (came,), (), (), (), 0, 0, engine_seconds=1.0, pass_rows=1))
    assert learnt == [(True, True), (False, True), (False, False)]
    texts.offers(asker, {"it": Proposal.chain([8])})
    texts.follow(Round(0, (8,), (), (), (), 0, 0, engine_seconds=1.0, pass_rows=1))
    assert learnt[3:] == [(True, True)]


def test_texts_that_are_gone_are_forgotten_though_nobody_saw_their_ends():
    texts = Texts(Experience())
    for sample in range(20):
        texts.offers(Asker(sample, 7, ("it",)), {"it": Proposal.chain([1])})
    texts.among({*range(9, 20)})
    texts.among({19})
    assert set(texts._texts) == {19}


def test_of_drafters_that_are_told_apart_the_oldest_go_first():
    known = Experience()
    for number in range(MOST_RECORDS + 3):
        known.of(f"drafter {number}")
    assert [name for name, _ in known.records][:1] == ["drafter 3"]
    assert len(known.records) == MOST_RECORDS


def test_a_change_is_from_the_present_width_and_none_where_passes_are_alike():
    width = Width(Experience(), 15)
    assert width.change(1, 11, 9) == width.change(1, 9, 11) == 0.0
    assert width.change(1, 0, 9) == width.change(1, 9) > 0.0


def test_nobody_rests_before_it_is_known_what_a_pass_takes():
    controller, asker = PayoffController(), Asker(0, 7, ("it",), {})
    for _ in range(4):
        assert controller.rest([0]) == [0]
        controller.budget([asker])
        controller.choose([asker], [{"it": NOTHING}], {"it": 1.0})
        controller.observe([Round(0, (1,), (), (), (), 0, 0, engine_seconds=1.0, seconds=1.0, pass_rows=1)])


def test_a_rest_leaves_no_rows_of_drafts_behind():
    controller = PayoffController()
    controller._next, controller._weighing.rows = 9, 7
    assert controller.rest([0]) == [8]
    assert controller._weighing.rows == 0


def test_what_became_of_a_draft_is_learnt_under_its_own_rule():
    controller, asker = PayoffController(), Asker(0, 7, ("it",), {}, True)
    controller.budget([asker])
    controller.choose([asker], [{"it": Proposal.chain([1, 2])}], {"it": 1e-6})
    before = list(controller._known.of("it", True).opinion._weights)
    controller.observe([Round(0, (1, 2, 3), (), (), (), 0, 0, engine_seconds=1.0, pass_rows=1)])
    assert controller._known.of("it", True).opinion._weights != before
    assert ("it", False) not in controller._known.records


def test_a_plain_pass_takes_no_more_than_one_with_drafts():
    known = SimpleNamespace(costs=PassCosts(), round_seconds=lambda rows, texts, drafts: 2.0 if drafts else 3.0)
    width = Width(known, 15)
    width.rows = 7
    assert (width.plain(1), width.seconds(1, 0)) == (2.0, 3.0)


def test_what_is_made_is_weighed_as_it_is():
    """A drafter that was cheap when it was asked and is not any more does not offer the same text twice."""
    controller = PayoffController()
    for _ in range(20):
        controller._costs.add(1, 1.0)
    record = controller._known.of("it")
    for _ in range(3):
        record.pace.add(0.001, 1)
        controller._known.of("other").pace.add(0.001, 1)
    asker = Asker(0, 7, ("it", "other"), {})
    assert controller.budget([asker]) == [{"it": 7, "other": 7}]
    for _ in range(40):
        record.pace.add(0.05, 7)
        record.acceptance.add(7, 7)
    offers = {
        "it": Proposal.chain([1] * 7, None, np.full(7, 0.01)),
        "other": Proposal.chain([2] * 7, None, np.full(7, 0.9)),
    }
    assert controller.choose([asker], [offers], {"it": 0.05, "other": 0.001})[0].source == "other"


def test_a_text_is_believed_in_no_more_than_at_first():
    opinion, lean = Opinion(), Lean()
    for _ in range(300):
        opinion._learn((1.0, -6.9, 0.0), False, lean)
    assert lean.spread <= LEAN_SPREAD


def test_what_must_come_stands_before_a_draft_in_its_first_round_alone():
    shadow = Shadow(Proposal.chain([7, 8, 9]), [0.0] * 3)
    first = list(shadow.follow([5, 7], 1))
    assert [(fate.is_first, fate.kept) for fate in first] == [(True, True)]
    second = list(shadow.follow([8, 9], 1))  # this round's token that had to come is the text's own
    assert [(fate.is_first, fate.kept) for fate in second] == [(False, True), (False, True)]


def test_a_width_gives_way_to_plain_sampling_however_close_it_is(monkeypatch):
    width = Width(Experience(), 15)
    width.rows = 7
    monkeypatch.setattr(width, "speeds", lambda samples, offering: {0: 1.001, 7: 1.0, 15: 0.5})
    width.settle(1, 0.0)
    assert width.rows == 0


@pytest.mark.parametrize(("drafts", "rows"), [(1.01, 0), (1.03, 7)])
def test_what_hardly_gains_is_not_drafted(monkeypatch, drafts, rows):
    """Of what is estimated, what looks best is mostly overrated."""
    for before in (0, 7):
        width = Width(Experience(), 15)
        width.rows = before
        monkeypatch.setattr(width, "speeds", lambda samples, offering: {0: 1.0, 7: drafts})
        width.settle(1, 0.0)
        assert (width.rows, width.gain) == (rows, drafts)


def test_a_round_is_not_widened_where_the_change_takes_what_it_gains(monkeypatch):

    width = Width(Experience(), 15)
    width.rows = 1
    pile = Pile([Offer("it", [0.5] * 7, True)])
    monkeypatch.setattr(width, "change", lambda samples, rows, present=0: 0.0)
    assert width.now(pile, 1) > 1
    monkeypatch.setattr(width, "change", lambda samples, rows, present=0: 9.0 * (rows != present))
    assert width.now(pile, 1) == 1


def test_what_is_not_tried_is_not_forgotten_without_end():
    opinion, lean = Opinion(), Lean()
    for number in range(4000):
        opinion._learn((1.0, 0.0, 0.0), number % 2 == 0, lean)
    assert sum(opinion._spread[i][i] for i in range(3)) <= FADING * sum(SPREAD)


def narrowing(monkeypatch, change=0.0):
    """A width of four drafts, where each row beside the first takes a tenth of a pass."""
    width = Width(Experience(PassCosts({1: 1.0, 2: 1.1, 5: 1.4, 16: 2.5})), 15)
    width.rows = 4
    width._worth = {rows: 0.2 * rows for rows in range(1, 16)}
    monkeypatch.setattr(width, "change", lambda samples, rows, present=0: change * (rows != present))
    return width


def test_a_round_takes_fewer_rows_where_that_pays_at_once(monkeypatch):
    """The width is held for the mean offer; this one is worth little behind its first token."""
    poor, good = Pile([Offer("it", [0.6, 0.02, 0.02, 0.02], True)]), Pile([Offer("it", [0.6, 0.5, 0.4, 0.3], True)])
    assert narrowing(monkeypatch).now(poor, 1) == 1
    assert narrowing(monkeypatch).now(good, 1) == 4
    assert narrowing(monkeypatch, change=0.5).now(poor, 1) == 4  # where a change of shape takes more than it saves
    assert narrowing(monkeypatch).now(Pile([Offer("it", [0.02] * 4, True)]), 1) == 0


def trying(passes, present=2):
    """A width of two drafts that is held, and passes of these row counts before."""
    costs = PassCosts({rows: 1.0 + 0.05 * rows for rows in range(1, 20)})
    for rows in passes:
        costs.add(rows, 1.0 + 0.05 * rows)
    width = Width(Experience(costs), 15)
    width.rows, width.change = present, lambda samples, rows, present=0: 0.0
    width._worth = {rows: 0.5 + 0.05 * rows for rows in range(1, 16)}
    width.settle(1, 0.0)
    return width


def test_a_width_beside_the_present_one_is_tried_where_it_was_not_seen_for_long():
    present, narrower = 3, 2  # rows of passes
    seen = [present] * 10
    assert trying([*seen, *[present] * AGE]).rows == 2
    width = trying([*seen, *[present] * AGE])
    assert width._tried(1) in (1, 3)
    assert width._tried(1) == 2  # one of them at once
    assert trying([narrower, 4, *[present] * (AGE - 5)])._tried(1) == 2  # seen of late
    assert trying([9] * (2 * AGE))._tried(1) == 2  # nobody has seen the present one either


def test_widths_that_lose_much_are_not_tried():
    width = trying([3] * (2 * AGE))
    width._worth = {rows: 2.0 if rows == 2 else 0.0 for rows in range(1, 16)}
    width.settle(1, 0.0)
    assert width.rows == 2
    assert width._tried(1) == 2
    assert neighbours({0: 1, 1: 1, 2: 1, 4: 1}, 2) == [1, 4]
    assert neighbours({0: 1, 1: 1}, 0) == []


def test_drafts_fill_passes_up_behind_the_rows_of_others():
    known = Experience()
    width = Width(known, 15)
    width.begin(Beside(7, 4))
    assert [*width.speeds(1, 0.0)] == [0, 12 - 8, 16 - 8]
    for rows in (0, 4, 8):
        assert width.seconds(1, rows) == pytest.approx(known.round_seconds(8 + rows, 5, rows))
    width.begin(Beside())
    assert width.seconds(1, 4) == pytest.approx(known.round_seconds(5, 1, 4))


def test_a_width_that_passes_have_no_more_is_left():
    """The engine was seen to pad, or others take the rows."""
    width = Width(Experience(), 15)
    width.rows, width._worth = 3, {4: 3.0, 8: 3.5}
    width.begin(Beside(7, 7))
    width.settle(1, 0.0)
    assert width.rows == 4
