"""Where drafts are far from paying a few texts are asked for all, in turns."""

from __future__ import annotations

import numpy as np
import pytest

from control.worlds import Source, World
from truedraw.control.average import Average
from truedraw.control.experience import Experience
from truedraw.control.late import Late
from truedraw.control.offers import Offer, Pile
from truedraw.control.payoff import UNASKED, PayoffController
from truedraw.control.watch import FAR, WATCHED, Watch
from truedraw.control.width import Beside, Width
from truedraw.protocol import Asker, Proposal, Round

MANY = range(10)


def idle(gain: float = 0.5) -> PayoffController:
    """A controller that knows what passes take, and of nothing that pays."""
    controller = PayoffController()
    controller._costs.is_timed = True
    for _ in range(8):
        controller._costs.add(len(MANY), 1.0, len(MANY))
    assert controller._costs.is_known
    controller._width.gain = gain
    return controller


def asked(controller: PayoffController) -> list[int]:
    """Who is, in a round that asks; what they have is nothing."""
    rests = controller.rest(MANY)
    here = [sample for sample, rounds in zip(MANY, rests, strict=True) if not rounds]
    askers = [Asker(sample, 7, ("it",)) for sample in here]
    controller.budget(askers)
    controller.choose(askers, [{} for _ in askers], {})
    controller.observe([Round(sample, (1,), (), (), (), 0, 0, engine_seconds=0.1, seconds=0.1, pass_rows=len(MANY))
                        for sample in MANY])  # fmt: skip
    controller._next = controller._step + 1
    return here


def test_everybody_comes_to_be_asked() -> None:
    controller = idle()
    seen = [asked(controller) for _ in range(5)]
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 8, 9], [2, 3, 4, 5], [6, 7, 8, 9]]


@pytest.mark.parametrize(("samples", "gain"), [(WATCHED, 0.0), (10, FAR), (10, 1.2)])
def test_all_are_asked_where_there_are_few_or_it_nearly_pays(samples: int, gain: float) -> None:
    assert list(Watch().among(range(samples), gain, None)) == list(range(samples))


def test_all_are_asked_where_somebody_drafts() -> None:
    controller = idle()
    controller._width.rows = 16
    assert controller.rest(MANY) == [0] * len(MANY)


def test_where_nobody_offers_anything_nobody_is_thought_to_draft() -> None:
    """Or all would be asked in every round."""
    controller = idle()
    controller._width.rows = 16
    assert asked(controller) == [*MANY]
    assert asked(controller) == [4, 5, 6, 7]


def test_a_text_that_is_looked_at_stays() -> None:
    assert set(Watch().among(range(10), 0.5, 9)) == {0, 1, 2, 3, 9}


def test_before_they_are_asked_they_alone_listen() -> None:
    controller = idle()
    controller._next = controller._step + 3
    assert controller.rest(MANY) == [2] * len(MANY)
    assert controller.rest(MANY) == [1] * WATCHED + [UNASKED] * 6
    assert controller.rest(MANY) == [0] * WATCHED + [UNASKED] * 6


def test_what_is_offered_to_a_few_stands_for_all() -> None:
    few = Pile([Offer("it", [0.5, 0.2], True), None])
    assert [few.of_all(rows, 2 / 8) for rows in (0, 2, 4, 8, 100)] == pytest.approx([0, 1.0, 2.0, 2.8, 2.8])


def test_a_few_say_what_would_be_gained_if_all_were_offered_the_same() -> None:
    offers = [Offer("it", [0.9, 0.6, 0.3], True), Offer("it", [0.8], True)]
    width = Width(Experience(), 15)
    width.begin(Beside())
    width.add(Pile(offers * 4), 8, 1)
    speeds = width.speeds(8, 0.1)
    best = max(speed for rows, speed in speeds.items() if rows) / speeds[0]
    assert best > 1.0
    assert width.glance(Pile(offers), 8, 2 / 8, 0.1) == pytest.approx(best)


def test_the_account_is_of_all_texts() -> None:
    controller = idle()
    asked(controller)
    ((texts, drafted),) = controller.account.explanation().widths
    assert (texts, drafted) == (len(MANY), 0)


@pytest.mark.parametrize("share", [1, 4])
def test_it_is_seen_when_drafts_begin_to_pay(share: int) -> None:
    """In all texts, or in each fourth."""
    chance = lambda step, sample, _: 0.95 if step > 300 and sample % share == 0 else 0.01  # noqa: E731
    world = World({"it": Source(chance, has_opinion=False)}, samples=16)
    world.run(PayoffController(), 500)
    drafted = np.array(world.chosen)[:, ::share]
    assert drafted[100:300].mean() < 0.3
    assert drafted[400:].mean() > 1.5


def repeating(chance: float) -> tuple[World, Counting]:
    """One text of many repeats itself, and its drafts would pay if all were offered the like."""
    kept = lambda _step, sample, _: chance if sample == 7 else 0.01  # noqa: E731
    world = World({"it": Source(kept, has_opinion=False)}, samples=32, cost=lambda rows: 1.0 + 0.2 * rows)
    return world, Counting(PayoffController())


@pytest.mark.parametrize("chance", [0.6, 0.95])
def test_one_that_repeats_among_many_keeps_nobody_else_awake(chance: float, monkeypatch) -> None:
    world, few = repeating(chance)
    speed = world.run(few, 600)
    drafted = sum(map(sum, world.chosen))
    monkeypatch.setattr("truedraw.control.watch.WATCHED", 32)
    world, everybody = repeating(chance)
    assert speed > world.run(everybody, 600) - 0.01
    assert few.asked < 0.6 * everybody.asked
    assert drafted < 600


class Counting:
    """A controller that is counted."""

    def __init__(self, inner: PayoffController) -> None:
        self._inner, self.asked = inner, 0

    def __getattr__(self, name: str):
        return getattr(self._inner, name)

    def rest(self, samples):
        rests = self._inner.rest(samples)
        self.asked += sum(not rounds for rounds in rests)
        return rests

    def budget(self, askers):
        return self._inner.budget(askers)

    def choose(self, *given):
        return self._inner.choose(*given)

    def observe(self, rounds) -> None:
        self._inner.observe(rounds)


def test_texts_that_cannot_draft_have_no_share_and_one_turn_in_all() -> None:
    watch = Watch()
    able, unable = Asker(3, 7, ("it",)), [Asker(sample, 7, ()) for sample in range(3)]
    others = [Asker(sample, 7, ("it",)) for sample in range(4, 10)]
    assert watch.share([*unable, able, *others], set(MANY)) == 1.0
    assert set(watch.among(MANY, 0.5, None)) == {0, 3, 4, 5, 6}
    watch.pass_on()
    assert set(watch.among(MANY, 0.5, None)) == {1, 3, 7, 8, 9}
    assert watch.share([able, unable[1]], set(MANY)) == 1 / 7
    assert watch.share([able, Asker(2, 7, ("it",))], set(MANY)) == 2 / 8


def test_a_look_waits_as_long_whoever_is_asked_in_between() -> None:
    known = Experience()
    late = Late(known, Width(known, 15))
    first, second = Asker(0, 7, ("it",)), Asker(1, 7, ("it",))
    late.weigh([first, second], lambda _: False, {0, 1})
    known.rounds += 100
    late.weigh([second], lambda _: False, {0, 1})
    assert late._since == {(0, "it"): 0, (1, "it"): 0}
    late.weigh([second], lambda _: False, {1})
    assert late._since == {(1, "it"): 0}


def weighed(controller: PayoffController, offered: bool = True) -> list[int]:
    """Who is asked in this round; each offers tokens that are likely, or nothing, and one call takes a second."""
    rests = controller.rest(MANY)
    here = [sample for sample, rounds in zip(MANY, rests, strict=True) if not rounds]
    askers = [Asker(sample, 7, ("it",)) for sample in here]
    controller.budget(askers)
    likely = Proposal.chain([1] * 7, confidence=np.full(7, 0.99))
    controller.choose(askers, [{"it": likely} if offered else {} for _ in askers], {"it": 1e-3})
    return here


def likely_to_pay() -> PayoffController:
    """One whose drafter is cheap and mostly right, as far as anybody can tell."""
    controller = idle()
    record = controller._known.of("it")
    for _ in range(8):
        record.pace.add(1e-6, 7)
    return controller


def test_what_would_pay_wakes_all_and_they_listen_first() -> None:
    controller = likely_to_pay()
    controller._width.glance, controller._pause._last = lambda *_: 1.5, 32
    controller._pause._weighing.add(1.0, is_longer=False)  # a long pause would follow
    assert weighed(controller) == [0, 1, 2, 3]
    assert controller.rest(MANY) == [1] * len(MANY)
    assert weighed(controller, offered=False) == [*MANY]
    controller._next = controller._step + 1
    assert weighed(controller) == [4, 5, 6, 7]  # and it is over


def test_what_would_not_pay_wakes_nobody_and_the_next_ones_listen_first() -> None:
    controller = likely_to_pay()
    controller._width.glance = lambda *_: 1.0
    controller._pause.listening._awake = controller._pause.listening._asleep = Average(count=99)
    assert weighed(controller) == [0, 1, 2, 3]
    assert controller._next >= controller._step + 2
    controller._next = controller._step + 2
    assert controller.rest(MANY) == [1 if 4 <= sample < 8 else UNASKED for sample in MANY]
    assert weighed(controller) == [4, 5, 6, 7]


def test_a_few_are_weighed_for_all() -> None:
    controller, seen = likely_to_pay(), []
    controller._width.glance = lambda _, samples, share, offering: seen.append((samples, share, offering)) or 0.5
    controller._width.plain = lambda samples: seen.append(samples) or 1.0
    weighed(controller)
    assert seen == [10, (10, 0.4, pytest.approx(1e-3 / 0.4)), 10]
    assert controller._width._seen == 0


def test_who_is_asked_where_a_decision_stands_is_everybody() -> None:
    controller = idle()
    controller._standing.lasts = lambda _: True
    assert controller.rest(MANY) == [0] * len(MANY)


def test_rounds_whose_few_have_failed_are_in_the_account() -> None:
    controller = idle()
    controller.rest(MANY)
    controller.observe([Round(9, (1,), (), (), (), 0, 0, engine_seconds=0.1, seconds=0.1, pass_rows=1)])
    assert controller.account.explanation().rounds == 1
    assert asked(controller) == [0, 1, 2, 3]
    assert controller.account.explanation().rounds == 2


def test_who_could_not_draft_has_a_turn() -> None:
    watch = Watch()
    watch.share([Asker(sample, 7, ("it",) if sample < 6 else ()) for sample in MANY], set(MANY))
    seen = set()
    for _ in range(4):
        seen |= set(watch.among(MANY, 0.5, None))
        watch.pass_on()
    assert seen == set(MANY)


def test_where_none_of_a_few_can_draft_any_more_they_have_a_share_still():
    watch, few = Watch(), [Asker(number, 0, ("it",), {}) for number in range(WATCHED)]
    assert watch.share(few, {*range(3 * WATCHED)}) == pytest.approx(1 / (2 * WATCHED))


def test_texts_that_could_not_draft_are_forgotten_once_they_are_gone():
    watch = Watch()
    for sample in range(20):
        watch.share([Asker(sample, 0, (), {})], {sample})
    assert watch._unable == {19}
