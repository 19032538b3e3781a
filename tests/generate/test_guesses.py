"""Proposals for those whose turn it is: who is asked for how much, and who pays for it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from truedraw.draft.several import LONGEST_TOLD, SeveralDrafters, SeveralStates, Source, name_of, short
from truedraw.errors import BadInput
from truedraw.generate import guesses
from truedraw.generate.guarded_drafter import GuardedDrafter, GuardedState
from truedraw.generate.guess import MOST_TOLD
from truedraw.generate.guesses import guess
from truedraw.generate.sample import Parts, Sample, Turn
from truedraw.protocol import NOTHING, Asker, Choice, Proposal


class State:
    def commit(self, tokens, scores=None):
        pass

    def ahead(self, tokens):
        return self


class Gives:
    """Drafts a chain, or raises; `clock` goes on by `seconds` a call."""

    def __init__(self, clock=None, seconds=0.0, error=None, worth=None):
        self.clock, self.seconds, self.error, self.asked = clock, seconds, error, []
        self.worths = (lambda room: self.asked.append(room) or [(0.5, 1)] * room) if worth else None

    def propose(self, states, budgets, chances):
        if self.clock:
            self.clock[0] += self.seconds
        if self.error:
            raise self.error
        self.asked.append(list(budgets))
        return [Proposal.chain([1] * n) for n in budgets]


def sample(drafter, number=0, room=9, forced=(), coupled=True):
    law = SimpleNamespace(forced=lambda most: list(forced)[:most])
    parts = Parts(drafter, SimpleNamespace(coupled=coupled))
    several = isinstance(drafter, SeveralDrafters)
    draft = SeveralStates({n: State() for n in drafter.sources}) if several else State()
    if getattr(drafter, "worths", None):
        draft.worths = drafter.worths
    return Sample(number, parts, law, None, SimpleNamespace(room=room), SimpleNamespace(tokens=[0]), draft)


class Asks:
    """Asks for `first` at once and for `late` after that; keeps what it was told."""

    def __init__(self, first, late=None):
        self.first, self.late = first, late

    def budget(self, askers):
        self.askers = askers
        return [dict(self.first) for _ in askers]

    def choose(self, askers, offers, seconds):
        self.seconds = dict(seconds)
        return [Choice(self.late, tokens=1) if self.late else Choice() for _ in askers]


def schedule():
    failed = []
    return SimpleNamespace(failed=lambda s, e: failed.append((s.number, e)), has_room=lambda w: True, errors=failed)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(guesses, "working_seconds", lambda: now[0])
    return now


def test_what_must_come_comes_while_the_controller_rests():
    one = sample(Gives(), forced=(4, 5))
    controller = type("Rests", (), {"rest": lambda self, samples: [3]})()
    guess(controller, schedule(), Turn([one]))
    assert (one.proposal.tokens.tolist(), one.forced, one.rest) == ([4, 5], 2, 3)


@pytest.mark.parametrize("rests", [3, [], [0, 0], None])
def test_a_controller_names_the_rounds_of_each(rests):
    controller = type("Rests", (), {"rest": lambda self, samples: rests})()
    with pytest.raises(BadInput, match=r"rest\(\) gave .* for 1 samples; give the rounds of each"):
        guess(controller, schedule(), Turn([sample(Gives())]))


@pytest.mark.parametrize(("room", "left"), [(9, 6), (3, 0)])
def test_what_must_come_takes_room_from_the_drafts(room, left):
    one, controller = sample(Gives(), forced=(4, 5), room=room), Asks({})
    guess(controller, schedule(), Turn([one]))
    assert controller.askers[0].room == left
    assert controller.askers[0].sources == (("draft",) if left else ())


@pytest.mark.parametrize(("most", "left"), [(0, 0), (3, 3), (6, 6), (8, 6)])
def test_no_more_is_drafted_than_was_asked_for_and_what_must_come_takes_none_of_that(most, left):
    one, controller = sample(Gives(), forced=(4, 5), room=9), Asks({})
    one.parts = replace(one.parts, most_drafted=most)
    guess(controller, schedule(), Turn([one]))
    assert controller.askers[0].room == left
    assert controller.askers[0].sources == (("draft",) if left else ())


@pytest.mark.parametrize("several", [False, True])
def test_who_cannot_look_behind_what_must_come_is_not_asked(several):
    """A guard around a state that cannot is none that can."""
    guard = GuardedDrafter(Gives(), 9)
    one = sample(SeveralDrafters.of({"draft": Source(guard, guard)}) if several else guard, forced=(4, 5))
    blind = GuardedState(guard, SimpleNamespace(commit=lambda tokens, scores: None))
    one.draft = SeveralStates({"draft": blind}) if several else blind
    controller = Asks({})
    guess(controller, schedule(), Turn([one]))
    assert controller.askers[0].sources == ()
    assert one.proposal.tokens.tolist() == [4, 5]


def test_every_second_of_a_drafter_is_told_whichever_job_it_works_for(clock):
    """Two jobs have drafters of one name: their calls are two, and the name's seconds are those of both."""
    texts = [sample(Gives(clock, 2.0), 0), sample(Gives(clock, 3.0), 1)]
    controller = Asks({"draft": 1})
    guess(controller, schedule(), Turn(texts))
    assert controller.seconds == {"draft": 5.0}


def test_a_text_pays_for_all_that_were_asked_for_it(clock):
    first, late = Gives(clock, 2.0), Gives(clock, 3.0)
    one = sample(SeveralDrafters.of({"first": Source(first, first), "late": Source(late, late)}))
    assert guess(Asks({"first": 1}, "late"), schedule(), Turn([one])) == 5.0
    assert (one.draft_seconds, one.late_seconds) == (5.0, 3.0)


def test_the_time_of_all_that_were_asked_late_is_told(clock):
    nothing, late = Gives(clock, 2.0), Gives(clock, 3.0)
    nothing.propose = lambda *given: [NOTHING for _ in Gives.propose(nothing, *given)]
    one = sample(SeveralDrafters.of({"nothing": Source(nothing, nothing), "late": Source(late, late)}))
    controller = Asks({})
    controller.choose = lambda *_: [Choice("nothing", tokens=1, then=("late",))]
    guess(controller, schedule(), Turn([one]))
    assert (one.source, one.late_seconds) == ("late", 5.0)


def test_who_cannot_be_asked_for_want_of_room_has_taken_no_time(clock):
    drafter = Gives(clock, 3.0)
    one, full = sample(drafter, coupled=False), schedule()
    full.has_room = lambda work: False
    guess(Asks({}, "draft"), full, Turn([one]))
    assert (drafter.asked, one.draft_seconds, one.late_seconds) == ([], 0.0, None)


def test_a_text_whose_drafter_fails_leaves_the_turn():
    texts = [sample(Gives(error=ValueError("no")), 0), sample(Gives(), 1)]
    turn, plan = Turn(list(texts)), schedule()
    guess(Asks({"draft": 1}), plan, turn)
    assert turn.samples == texts[1:]
    assert [number for number, _ in plan.errors] == [0]


def test_each_text_is_asked_what_its_own_room_is_worth():
    drafter = Gives(worth=True)
    texts, controller = [sample(drafter, i, room) for i, room in enumerate((9, 4, 9))], Asks({})
    guess(controller, schedule(), Turn(texts))
    assert [len(asker.worths["draft"]) for asker in controller.askers] == [8, 3, 8]
    assert drafter.asked == [8, 3, 8]
    assert len(controller.askers[0].worths) == 1
    assert dict(controller.askers[1].worths) == {"draft": [(0.5, 1)] * 3}


def test_nobody_is_asked_what_is_not_read_or_for_more_than_is_ever_given():
    drafter = Gives(worth=True)
    controller = Asks({})
    guess(controller, schedule(), Turn([sample(drafter, 0, 500)]))
    assert drafter.asked == []
    assert len(controller.askers[0].worths["draft"]) == MOST_TOLD
    with pytest.raises(KeyError):
        controller.askers[0].worths["nobody"]
    assert sample_without_worth().worths.get("draft") is None


@pytest.mark.parametrize("several", [1, 2, 3])
def test_who_is_asked_late_is_followed_by_all_that_were_named_as_long_as_nobody_has_anything(clock, several):
    names = "abcd"[: several + 1]
    drafters = {name: Gives(clock, 1.0) for name in names}
    for name in names[:-1]:
        drafters[name].propose = lambda states, *_: [NOTHING for _ in states]
    one, controller = (
        sample(SeveralDrafters.of({name: Source(each, each) for name, each in drafters.items()})),
        Asks({}),
    )
    controller.choose = lambda *_: [Choice(names[0], tokens=2, then=tuple(names[1:]))]
    guess(controller, schedule(), Turn([one]))
    assert (one.source, len(one.proposal)) == (names[-1], 2)


def test_the_time_of_drafts_that_were_drawn_before_is_not_that_of_this_round(clock):
    texts = [sample(Gives(clock, 2.0), 0), sample(Gives(clock, 3.0), 1)]
    texts[0].proposal, texts[0].draft_seconds = Proposal.chain([1]), 7.0
    assert guess(Asks({"draft": 1}), schedule(), Turn(texts)) == 3.0


@pytest.mark.parametrize(("trouble", "begun"), [(None, 1), ("fault", 0), ("room", 0)])
def test_rounds_begin_otherwise_only_where_all_can_be_drafted(trouble, begun):
    """One text's first drafter fails in this round, or there is no room for what was decided for it."""
    fails = Gives(error=ValueError("no") if trouble == "fault" else None)
    texts, plan, told = [sample(fails, 0, coupled=False), sample(Gives(), 1)], schedule(), []
    plan.has_room = lambda work: trouble != "room"
    guess(Asks({"draft": 1}, "draft"), plan, Turn(texts), lambda guesses, choices: told.append(choices) or False)
    assert len(told) == begun


def test_an_asker_tells_the_length_of_the_text_and_who_can_still_draft():
    guard = GuardedDrafter(Gives(), 9)
    texts, controller = [sample(guard, number) for number in range(2)], Asks({})
    texts[1].sequence.tokens = [0] * 7
    guess(controller, schedule(), Turn(texts))
    assert [(asker.length, asker.sources) for asker in controller.askers] == [(1, ("draft",)), (7, ("draft",))]
    guard.fault = "too slow"
    for each in texts:
        each.proposal = None
    guess(controller, schedule(), Turn(texts))
    assert [asker.sources for asker in controller.askers] == [(), ()]


def test_a_drafter_is_called_by_its_settings_in_whatever_order_and_length():
    assert name_of("q", {"b": 1, "a": 2}) == name_of("q", {"a": 2, "b": 1}) == "q(a=2, b=1)"
    assert name_of("q", {}) == "q"
    assert short("x" * LONGEST_TOLD) == "x" * LONGEST_TOLD
    longer = [short("x" * LONGEST_TOLD + end) for end in ("a", "b")]
    assert longer[0] != longer[1]
    assert {len(each) for each in longer} == {LONGEST_TOLD // 2 + 3 + 8}


def test_of_several_drafters_those_are_told_that_were_switched_off():
    parts = {name: SimpleNamespace(fault=fault) for name, fault in {"a": None, "b": "late", "c": "lost"}.items()}
    several = SeveralDrafters.of({"plain": Source(Gives(), Gives())} | {n: Source(p, p) for n, p in parts.items()})
    assert several.fault == "b: late; c: lost"
    parts["b"].fault = parts["c"].fault = None
    assert several.fault is None


def test_of_several_each_draws_by_chances_of_its_own_for_the_texts_that_have_nothing_yet():
    asked = []

    class Notes(Gives):
        def propose(self, states, budgets, chances):
            asked.append(
                [(budget, chance.randomness, chance.source) for budget, chance in zip(budgets, chances, strict=True)]
            )
            return [Proposal.chain([1]) if budget > 3 else NOTHING for budget in budgets]

    several = SeveralDrafters.of({name: Source(Notes(), Gives()) for name in "ab"})
    states = [SeveralStates({"a": State(), "b": State()}) for _ in range(3)]
    found = several.propose(states, [2, 4, 3], [*"xyz"])
    assert asked == [[(2, "x", 0), (4, "y", 0), (3, "z", 0)], [(2, "x", 1), (3, "z", 1)]]
    assert [len(each) for each in found] == [0, 1, 0]


def test_where_one_alone_is_asked_next_the_others_doze():
    told = []

    class Dozes:
        def __init__(self, name):
            self.commit = lambda tokens, scores: told.append((name, "awake", tokens))
            self.doze = lambda tokens, scores: told.append((name, "dozing", tokens))

    states = SeveralStates({"a": Dozes("a"), "blind": None, "b": Dozes("b")})
    states.follow([3], None, "b")
    states.doze([4], None)
    assert told == [("a", "dozing", [3]), ("b", "awake", [3]), ("a", "dozing", [4]), ("b", "dozing", [4])]


def sample_without_worth() -> Asker:
    controller = Asks({})
    guess(controller, schedule(), Turn([sample(Gives(), 0, 9)]))
    assert not list(controller.askers[0].worths)
    assert len(controller.askers[0].worths) == 0
    return controller.askers[0]
