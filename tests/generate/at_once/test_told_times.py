"""The times of rounds that came at once: every second is somebody's, and nobody pays for another's drafts."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from truedraw.generate.at_once import machine, strides, telling
from truedraw.generate.at_once import plan as plans
from truedraw.generate.at_once.plan import Deciding
from truedraw.generate.at_once.side import Ran, Side, Times
from truedraw.generate.at_once.strides import Strides
from truedraw.generate.at_once.telling import Telling
from truedraw.generate.judging import Judged, Spent
from truedraw.protocol import NOTHING, Proposal, Round, Scores, Verdict

BEGAN = 100.0
HEARING, ENDING = 0.25, 0.5  # seconds
TIMES = [Times(10.0, 16.0, [3.0, 0.0, 1.0]), Times(8.0, 12.5, [1.5, 0.0, 0.5]), Times(6.0, 9.0, [2.0, 0.0, 0.0])]
ROUNDS = (3, 3, 2)  # of each text: one ends before the others


class Heard:
    """A way that rounds were run, and a controller that hears of them. Time goes on only where it is said."""

    def __init__(self, sides: list[Side]) -> None:
        self.sides, self.now, self.told = sides, BEGAN + sum(each.whole for each in TIMES), list[list[Round]]()

    def clock(self) -> float:
        return self.now

    def enter(self, side: Side, number: int) -> None:
        """All of them are in."""

    def dozes(self, side: Side, rest: int) -> bool:
        return rest > 1

    def hear(self, side: Side, ran: Ran, *, dozing: bool) -> None:
        self.now += HEARING

    def end(self, kept: object) -> None:
        self.now += ENDING

    def observe(self, rounds: list[Round]) -> None:
        self.told.append(rounds)


def side(place: int, drafts: bool, rounds: int) -> Side:
    sample: Any = SimpleNamespace(number=5 + place, finish_reason="stop", parts=SimpleNamespace(controller=None))
    judged = Judged(Verdict((1,), 0, False), (1,), None, (-1.0,), (-1.0,))
    proposal = Proposal.chain([2]) if drafts else NOTHING
    hearers: Any = None
    return Side(place, sample, hearers, None, "it" if drafts else "", drafts, [(proposal, judged)] * rounds)


def told(monkeypatch: pytest.MonkeyPatch, decided: list[Deciding]) -> tuple[Heard, list[list[Round]]]:
    way: Any = Heard([side(place, place != 1, rounds) for place, rounds in enumerate(ROUNDS)])
    way.now += sum(each.seconds for each in decided)
    monkeypatch.setattr(telling, "working_seconds", way.clock)
    ran = Ran(TIMES, np.zeros((3, 0)), np.zeros((5, 2)), None, [0, 2, 3, 5])
    schedule: Any = None
    done = Telling(way, schedule).over(way, way, ran, BEGAN, decided)
    assert done == [each for rounds in way.told for each in rounds]
    return way, way.told


@pytest.mark.parametrize("decided", [[], [Deciding(1.0, 0.5), Deciding(2.0, 0.0), Deciding(4.0, 3.0)]])
def test_every_second_of_several_texts_is_somebodys_once(monkeypatch: pytest.MonkeyPatch, decided: list) -> None:
    way, rounds = told(monkeypatch, decided)
    assert [[each.sample for each in own] for own in rounds] == [[5, 6, 7], [5, 6, 7], [5, 6]]
    assert sum(each.seconds for own in rounds for each in own) == pytest.approx(way.now - BEGAN)
    for own, times in zip(rounds, TIMES, strict=True):
        assert [each.engine_seconds for each in own] == pytest.approx([times.engine / len(own)] * len(own))
        assert {each.pass_rows for each in own} == {5}


def test_a_controller_is_asked_for_all_texts_that_it_decided_for_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each for its own; of those of one another text has ended before the last round."""
    way: Any = Heard([side(place, place != 1, rounds) for place, rounds in enumerate((*ROUNDS, 3))])
    asked: dict[str, list[list[int]]] = {"one": [], "other": []}
    for each in way.sides:
        own = asked["one" if each.place < 3 else "other"]
        each.guess = SimpleNamespace(asker=each.place)
        if each.place == 3:
            judge: Any = Heard([])
            each.sample.parts.controller = judge
            judge.budget, judge.choose = own.append, lambda *_: None
    way.budget, way.choose = asked["one"].append, lambda *_: None
    times = [each._replace(drafts=[*each.drafts, 0.0]) for each in TIMES]
    monkeypatch.setattr(telling, "working_seconds", way.clock)
    schedule: Any = None
    Telling(way, schedule).over(way, way, Ran(times, np.zeros((3, 0)), np.zeros((6, 2)), None, [0, 2, 3, 5, 6]), BEGAN)
    assert asked == {"one": [[0, 1, 2]] * 2, "other": [[3]] * 3}


@pytest.mark.parametrize("at", [-1, 0, 1, 2])
def test_an_interruption_leaves_each_round_to_the_schedule_once(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Those that were timed as they are; it comes before any was, or when the controller hears of one."""
    way: Any = Heard([side(place, place != 1, rounds) for place, rounds in enumerate(ROUNDS)])
    for each in way.sides:
        each.found = [(drafted, judged._replace(tokens=(k,))) for k, (drafted, judged) in enumerate(each.found)]

    def interrupted(*_: object) -> None:
        way.told.append([])
        if at < 0 or len(way.told) == at + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(way, "end" if at < 0 else "observe", interrupted)
    monkeypatch.setattr(telling, "working_seconds", way.clock)
    kept, ran = list[Round](), Ran(TIMES, np.zeros((3, 0)), np.zeros((5, 2)), None, [0, 2, 3, 5])
    schedule: Any = SimpleNamespace(rescue=kept.extend)
    with pytest.raises(KeyboardInterrupt):
        Telling(way, schedule).over(way, way, ran, BEGAN)
    for place, rounds in enumerate(ROUNDS):
        assert [each.tokens for each in kept if each.sample == 5 + place] == [(k,) for k in range(rounds)]
    timed = sum(min(rounds, at + 1) for rounds in ROUNDS)
    assert [each.engine_seconds > 0.0 for each in kept] == [True] * timed + [False] * (len(kept) - timed)


def test_no_round_is_entered_behind_the_end_of_a_text() -> None:
    """Compiled code knows the tokens that end it, and no strings."""
    text, found = side(0, False, 0), list[int]()
    text.sample.finish_reason = None

    def enter(own: Side, number: int) -> None:
        found.append(number)
        own.sample.finish_reason = "stop" if number == 1 else None

    way: Any = SimpleNamespace(enter=enter)
    telling.entered(way, text, 4)
    assert found == [0, 1]


def test_each_pays_for_its_own_drafts_and_as_much_of_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    _, rounds = told(monkeypatch, [])
    assert [[each.draft_seconds for each in own] for own in rounds] == [[3.0, 0.0, 1.0], [1.5, 0.0, 0.5], [2.0, 0.0]]
    assert [[each.late_seconds for each in own] for own in rounds] == [[3.0, None, 1.0], [1.5, None, 0.5], [2.0, None]]
    for own in rounds:
        shared = [each.seconds - each.draft_seconds for each in own]
        assert shared == pytest.approx(shared[:1] * len(own))


def test_what_it_took_to_decide_is_told_with_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = [Deciding(1.0, 0.5), Deciding(2.0, 0.0), Deciding(4.0, 3.0)]
    (first, *others), (plain, *_) = told(monkeypatch, decided)[1], told(monkeypatch, [])[1]
    assert [each.draft_seconds for each in first] == [3.5, 0.0, 4.0]
    assert [a.seconds - b.seconds for a, b in zip(first, plain, strict=True)] == pytest.approx([1.0, 2.0, 4.0])
    assert [each.late_seconds for each in first] == [3.0, None, 1.0]
    assert [[each.draft_seconds for each in own] for own in others] == [[1.5, 0.0, 0.5], [2.0, 0.0]]


def test_of_one_text_what_was_done_for_all_rounds_is_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rounds that it was done for: those before have theirs."""
    monkeypatch.setattr(machine, "working_seconds", lambda: BEGAN + 30.0)
    judged = Judged(Verdict((1,), 0, False), (1,), None, (-1.0,), (-1.0,))
    ran = [plans.Ran(NOTHING, judged, Spent(0.0, None, 1.0, whole, 1)) for whole in (9.0, 4.0, 5.0)]
    plan: Any = SimpleNamespace(began=BEGAN)
    found = machine.shared_out(plan, ran, 1)
    assert [each.spent.all for each in found] == [4.0 + 6.0, 5.0 + 6.0]
    assert [each.spent.engine for each in found] == [1.0, 1.0]


@pytest.mark.parametrize(("source", "name", "late"), [("it", "it", 0.5), ("it", "", None), ("", "", None)])
def test_moments_of_a_round_tell_drafts_pass_and_all(source: str, name: str, late: float | None) -> None:
    plan: Any = SimpleNamespace(source=source, stand=SimpleNamespace(source=name))
    found = machine.spent(plan, [1_000_000_000, 1_500_000_000, 3_500_000_000, 3_750_000_000], 2)
    assert found == Spent(0.5 if source else 0.0, late, 2.0, 2.75, 3)


class Rows(nullcontext):
    """Of a round that is judged elsewhere."""

    def law_after(self, tokens: object) -> None:
        return None


@pytest.mark.parametrize(("name", "late"), [("it", [3.0, 3.0]), ("", [None, None])])
def test_rounds_that_python_runs_have_every_second_once(monkeypatch: pytest.MonkeyPatch, name: str, late: list) -> None:
    """The first of them that since the plan was begun."""
    now = [BEGAN + 2.0]

    def after(seconds: float, answer: Any) -> Any:
        def slow(*_: object) -> Any:
            now[0] += seconds
            return answer

        return slow

    judged = Judged(Verdict((1,), 0, False), (1,), None, (-1.0,), (-1.0,))
    monkeypatch.setattr(strides, "working_seconds", lambda: now[0])
    monkeypatch.setattr(strides, "judged", after(0.5, (Rows(), judged)))
    stride = SimpleNamespace(score=after(10.0, Scores(np.zeros((2, 2)), None)), keep=after(0.25, None), rows=2)
    sample = SimpleNamespace(law=None, finish_reason=None)
    plan: Any = SimpleNamespace(guess=SimpleNamespace(sample=sample), stand=SimpleNamespace(source=name), source="it")
    plan.drafted, plan.heard = after(3.0, Proposal.chain([2])), after(0.75, None)
    plan.stride, plan.began, plan.length = stride, BEGAN, 4
    own, ran = Strides.__new__(Strides), list[plans.Ran]()
    own._means, own._engine = None, SimpleNamespace(vocab_size=2)  # type: ignore[assignment]
    for _ in range(2):
        ran.append(own._round(plan, ran))
    assert [each.spent.all for each in ran] == [2.0 + 14.5, 14.5]
    assert sum(each.spent.all for each in ran) == now[0] - BEGAN
    assert [(each.spent.draft, each.spent.engine, each.spent.rows) for each in ran] == [(3.0, 10.0, 2)] * 2
    assert [each.spent.late for each in ran] == late
