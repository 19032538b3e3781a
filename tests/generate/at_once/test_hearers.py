"""Who may hear of rounds once they are over, and who has to be told of each as it ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from truedraw.generate.at_once import machine
from truedraw.generate.at_once.drafted import Drafted
from truedraw.generate.at_once.hearing import Hearers, hearers_of
from truedraw.generate.at_once.machine import NOT_SHOWN, Drafting, Machine
from truedraw.generate.at_once.plainly import Plainly
from truedraw.generate.at_once.plan import Ran
from truedraw.generate.at_once.side import Ran as SideRan
from truedraw.generate.at_once.side import Side, Times
from truedraw.generate.guarded_drafter import GuardedState
from truedraw.generate.judging import Judged, Spent
from truedraw.protocol import NOTHING, Verdict


def state(**said: bool) -> GuardedState:
    guard: Any = SimpleNamespace(fault=None)
    inner: Any = SimpleNamespace(**said)
    return GuardedState(guard, inner)


def test_some_doze_and_some_want_no_more_than_hidden_states() -> None:
    dozing, listening = state(dozes=True), state(dozes=False, hears_hidden=True)
    assert hearers_of([listening, None, dozing]) == Hearers((dozing,), (listening,))
    assert hearers_of([None]) == Hearers((), ())


@pytest.mark.parametrize("odd", [state(), state(hears_hidden=False), SimpleNamespace(hears_hidden=True)])
def test_who_reads_logits_or_is_not_known_is_told_of_each_round(odd: Any) -> None:
    assert hearers_of([state(dozes=True), state(hears_hidden=True), odd]) is None


def test_who_was_switched_off_hears_nothing() -> None:
    guard: Any = SimpleNamespace(fault="open: RuntimeError: x")
    off = [GuardedState(guard, inner) for inner in (None, state().inner)]
    assert hearers_of([*off, state(dozes=False, hears_hidden=False)]) is None
    assert hearers_of(off) == Hearers((), ())


def test_who_is_asked_in_the_next_round_does_not_doze() -> None:
    way = Drafted.__new__(Drafted)
    way._goes_on = False
    one: Any = SimpleNamespace(source="it")
    for dozes in (way.dozes, Plainly.dozes):
        assert [dozes(one, rest) for rest in range(4)] == [False, False, True, True]


def test_what_works_on_memory_that_is_elsewhere_by_now_is_made_anew() -> None:
    """Of the pass, or of any drafter."""
    way = Drafted.__new__(Drafted)
    logits, hidden, drafters = object(), object(), [SimpleNamespace(is_still=True) for _ in range(2)]
    own: Any = SimpleNamespace(logits=logits, hidden=hidden)
    way._job = own
    desks: Any = [SimpleNamespace(drafting=SimpleNamespace(job=job)) for job in (None, *drafters)]
    way.desks = desks
    other: Any = SimpleNamespace(logits=logits, hidden=hidden)
    assert way.serves(other)
    assert way._job is other
    for moved in ({"logits": object()}, {"hidden": None}):
        given: Any = SimpleNamespace(**{"logits": logits, "hidden": hidden} | moved)
        assert not way.serves(given)
        assert way._job is other
    drafters[1].is_still = False
    assert not way.serves(own)


def test_so_is_what_runs_a_text_that_is_alone() -> None:
    way = Machine.__new__(Machine)
    drafter: Any = SimpleNamespace(is_still=True)
    target: Any = SimpleNamespace(logits=object(), hidden=object())
    way._target, way._drafting = target, Drafting(drafter, None, Hearers((), ()))
    other: Any = SimpleNamespace(logits=target.logits, hidden=target.hidden)
    assert way.serves(other)
    assert way._target is other
    for moved in ({"logits": object()}, {"hidden": None}):
        given: Any = SimpleNamespace(**{"logits": target.logits, "hidden": target.hidden} | moved)
        assert not way.serves(given)
        assert way._target is other
    drafter.is_still = False
    assert not way.serves(target)


class Heard(NamedTuple):
    """What a text's drafters were told behind some rounds: whether they doze, and he who draws how many there were,
    whether they ended with the last pass, and what the longest of his calls took."""

    dozing: bool
    rounds: int
    is_last: bool
    took: float


def recording(found: list[Any]) -> Any:
    hearers = SimpleNamespace(
        listen=lambda tokens, scores: None, follow=lambda tokens, last, *, dozing: found.append(dozing)
    )
    return SimpleNamespace(hearers=hearers, end=lambda rounds, last, is_last, took: found.extend(
        [len(rounds), is_last, took]))  # fmt: skip


@pytest.mark.parametrize("is_last", [True, False])
def test_who_draws_for_a_text_that_is_alone_hears_of_all_rounds_and_his_longest_call(is_last: bool) -> None:
    found: list[Any] = []
    way = Machine.__new__(Machine)
    none: Any = SimpleNamespace(hidden=None, logits=None)
    way._target, way._drafting, way._shown = none, recording(found), (NOT_SHOWN, np.zeros((3, 0, 0, 0), np.float32))
    judged = Judged(Verdict((1,), 0, False), (1,), None, (-1.0,), (-1.0,))
    ran = [Ran(NOTHING, judged, Spent(draft, None, 1.0, draft + 1.0, 1)) for draft in (9.0, 3.0, 5.0, 1.0)]
    plan: Any = SimpleNamespace(dozes=lambda number: number != 3)
    way._hear(plan, ran, 1, is_last)
    assert Heard(*found) == (not is_last, 3, is_last, 5.0)


@pytest.mark.parametrize(("rounds", "is_last"), [(3, True), (2, False)])
def test_of_a_text_that_ended_before_others_the_last_pass_says_nothing(rounds: int, is_last: bool) -> None:
    """It was no pass of its own any more: nothing is learnt from it."""
    found: list[Any] = []
    way = Drafted.__new__(Drafted)
    way.desks = [SimpleNamespace(drafting=recording(found))]  # type: ignore[list-item]
    judged = Judged(Verdict((1,), 0, False), (1,), None, (-1.0,), (-1.0,))
    none: Any = None
    times = [Times(1.0, 2.0, [0.5], [calls]) for calls in (1.0, 3.0, 2.0)]
    side = Side(0, none, none, none, "it", False, [(NOTHING, judged)] * rounds)
    logits = np.zeros((1, 2), np.float32)
    way.hear(side, SideRan(times, np.zeros((3, 0, 0, 0), np.float32), logits, None, [0, 1]), dozing=False)
    assert Heard(*found) == (not is_last, rounds, is_last, 3.0)


@pytest.mark.parametrize(("ends_in", "is_last"), [(3, True), (2, False)])
def test_of_a_text_that_ended_before_the_last_round_the_last_pass_says_nothing(
    monkeypatch: pytest.MonkeyPatch, ends_in: int, is_last: bool
) -> None:
    """As where a string ends it, which compiled code does not know."""
    way, heard, ran = Machine.__new__(Machine), list[Any](), list[Ran]()
    sample: Any = SimpleNamespace(finish_reason=None, ending=SimpleNamespace(room=9))
    plan: Any = SimpleNamespace(length=4, rounds=3, guess=SimpleNamespace(sample=sample))

    def over(*_: object) -> Any:
        sample.finish_reason = "stop" if len(ran) + 1 == ends_in else None
        return SimpleNamespace(found=SimpleNamespace(tokens=(1,)))

    monkeypatch.setattr(machine, "RUN", lambda: lambda *_: (3, True))
    monkeypatch.setattr(machine, "decided", lambda *_: None)
    monkeypatch.setattr(machine, "shared_out", lambda plan, ran, before: ran[before:])
    kept: Any = (*([None] * 2), np.zeros((3, 0)), np.zeros((3, 0)), None)
    parts = {"_kept": kept, "_begin": lambda *_: 3, "_given": lambda *_: None, "_over": over,
             "_proposal": lambda *_: None, "_lists": lambda count: [range(count)] * 3,
             "_hear": lambda plan, ran, before, is_last: heard.extend([len(ran) - before, is_last])}  # fmt: skip
    vars(way).update(parts)
    crew: Any = SimpleNamespace(wake=lambda: None, board=None)
    assert way.run(crew, plan, 1.0, ran)
    assert heard == [ends_in, is_last]


@pytest.mark.parametrize(("is_short", "rooms", "dozes"), [
    (True, (5, 5), True), (False, (5, 5), False), (True, (5, 2), False),
])  # fmt: skip
def test_who_drafts_dozes_while_compiled_code_goes_on_with_all(
    is_short: bool, rooms: tuple[int, ...], dozes: bool
) -> None:
    """Where it left a round to Python, whose drafters are asked next, and every text has room for the next one."""
    way: Any = Drafted.__new__(Drafted)
    way._goes_on, way._is_short = None, is_short
    way.sides = [
        SimpleNamespace(source=name, sample=SimpleNamespace(finish_reason=None, ending=SimpleNamespace(room=room)))
        for name, room in zip(("it", ""), rooms, strict=True)
    ]
    way.desks = [SimpleNamespace(slate=SimpleNamespace(tokens=[0, 0]))] * 2
    assert [way.dozes(side, 1) for side in way.sides] == [dozes, False]
    assert way.dozes(way.sides[1], 2)
