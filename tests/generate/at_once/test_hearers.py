"""Who may hear of rounds once they are over, and who has to be told of each as it ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from truedraw.generate.at_once.drafted import Drafted
from truedraw.generate.at_once.hearing import Hearers, hearers_of
from truedraw.generate.at_once.plainly import Plainly
from truedraw.generate.guarded_drafter import GuardedState


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
