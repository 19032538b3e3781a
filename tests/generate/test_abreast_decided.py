"""Rounds of several texts that begin with the one in which they were decided."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace

import pytest

from generate.one_text import beside_a_head, opened
from truedraw import Model
from truedraw.draft.head.chain_job import ChainJob
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.errors import TruedrawError
from truedraw.generate import seeds
from truedraw.generate.at_once import plan
from truedraw.generate.at_once.abreast import Abreast
from truedraw.generate.at_once.drafted import Drafted
from truedraw.generate.at_once.side import Side
from truedraw.generate.speculation import Speculation
from truedraw.protocol import Choice, Stand

PROMPT = "once upon a time there was"
SETTINGS = {"max_tokens": 40, "ignore_eos": True, "seed": 3, "n": 3}
CHAINS = {"method": "head", "adaptive": False, "num_speculative_tokens": 2, "draft_temperature": 1.0,
          "draft_siblings": 1}  # fmt: skip
TRAVERSAL = CHAINS | {"rejection_sample_method": "traversal"}


class Deciding:
    """protocol.Controller and Stands: chains of two for all texts but, in some rounds, the second; decided in every
    fourth round."""

    def __init__(self, spares: bool = False) -> None:
        self.calls, self.left, self.spares, self.sources = [], 0, spares, {}

    def budget(self, askers):
        self.calls.append("budget")
        return [{} for _ in askers]

    def choose(self, askers, offers, seconds):
        self.calls.append("decide" if not self.left else "stand")
        self.left = self.left - 1 if self.left else 3
        self.sources = {asker.sample: asker.sources[0] for asker in askers if asker.sources}
        return [self._choice(asker.sample) if asker.room > 1 else Choice() for asker in askers]

    def _choice(self, sample):
        spared = self.spares and sample == min(self.sources, default=0)
        return Choice() if spared or sample not in self.sources else Choice(self.sources[sample], tokens=2)

    def stands(self, samples):
        if not self.left or not {*samples} <= {*self.sources}:
            return None
        found = map(self._choice, samples)
        return [Stand(self.left, each.source, each.tokens) for each in found]

    def observe(self, rounds):
        """Whoever decides for all jobs learns."""


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Model:
    place = beside_a_head(tmp_path_factory.mktemp("decided"), kind="attentive")
    with opened(place, draft=place.head, numerics="native") as loaded:
        yield loaded


@pytest.fixture(params=[False, True], ids=["all", "not all"])
def deciding(monkeypatch, request) -> list[Deciding]:
    """The controllers of all runs that draft."""
    found: list[Deciding] = []

    def controller(self):
        if self.method == "none":
            return made(self)
        found.append(Deciding(request.param))
        return found[-1]

    made = Speculation.controller
    monkeypatch.setattr(Speculation, "controller", controller)
    monkeypatch.setattr(plan, "LONGEST", 1e6)
    monkeypatch.setattr(seeds.Seeds, "next", lambda _, seed: seed)
    return found


@pytest.fixture
def begun(monkeypatch) -> list[int]:
    """How many rounds came at once so, each time that some did."""
    found, begin = [], Abreast.begin_with

    def watched(self, *given):
        rounds = begin(self, *given)
        found.extend([max(sum(done.sample == one.sample for done in rounds) for one in rounds)] if rounds else [])
        return rounds

    monkeypatch.setattr(Abreast, "begin_with", watched)
    return found


def drawn(model: Model, **settings) -> list[list]:
    """All that is known of the rounds, by sample, but for what they took."""
    rounds = defaultdict(list)
    times = {"draft_seconds": 0.0, "engine_seconds": 0.0, "seconds": 0.0, "late_seconds": None}
    for step in model.start(PROMPT, **SETTINGS | settings):
        for done in step:
            rounds[done.sample].append(replace(done, sample=0, **times))
    return [*rounds.values()]


@pytest.mark.parametrize("law", [{}, {"repetition_penalty": 1.5}], ids=["plain", "edits"])
@pytest.mark.parametrize("drafting", [CHAINS, TRAVERSAL], ids=["coupled", "traversal"])
def test_they_are_the_rounds_that_come_one_by_one(model, begun, deciding, monkeypatch, drafting, law) -> None:
    """The controller is asked and told of each as if they did; what a law counts is known behind Python's, too."""
    several = drawn(model, speculative=drafting, **law)
    assert begun.count(4) > 2
    begun.clear()
    monkeypatch.setattr(Abreast, "begin_with", lambda *_: None)
    assert drawn(model, speculative=drafting, **law) == several
    assert deciding[0].calls == deciding[1].calls
    assert deciding[0].calls.count("decide") > 4
    monkeypatch.setattr(PagedEngine, "abreast", lambda *_: None)
    assert drawn(model, speculative=drafting, **law) == several
    assert deciding[0].calls == deciding[2].calls


def test_the_first_of_them_bears_what_it_took_to_decide(model, begun, deciding, monkeypatch) -> None:
    choose = Deciding.choose

    def slow(self, *given):
        time.sleep(0.0 if self.left else 0.2)
        return choose(self, *given)

    monkeypatch.setattr(Deciding, "choose", slow)
    rounds = [done for step in model.start(PROMPT, speculative=CHAINS, **SETTINGS) for done in step]
    own = {done.sample: [each.seconds for each in rounds if each.sample == done.sample] for done in rounds}
    asked = [call for call in deciding[0].calls if call in ("decide", "stand")]
    assert begun
    for seconds in own.values():
        long = [each > 0.05 for each in seconds]
        assert long == [call == "decide" for call in asked[: len(long)]]
        assert min(seconds) > 0.0  # nobody bears what others do


def test_the_first_of_them_bears_drafts_that_were_weighed(model, begun, deciding, monkeypatch) -> None:
    propose = HeadDrafter.propose

    def slow(self, *given):
        time.sleep(0.3)
        return propose(self, *given)

    def weighing(self, askers):
        return [{} if self.left else dict.fromkeys(asker.sources, 2) for asker in askers]

    monkeypatch.setattr(HeadDrafter, "propose", slow)
    monkeypatch.setattr(Deciding, "budget", weighing)
    rounds = [done for step in model.start(PROMPT, speculative=CHAINS, **SETTINGS) for done in step]
    assert begun.count(4) > 2
    for sample in {done.sample for done in rounds}:
        own = [done for done in rounds if done.sample == sample]
        assert sum(done.draft_seconds > 0.05 for done in own) >= len(begun)
        assert all(done.draft_seconds < done.seconds for done in own)


@pytest.mark.parametrize("at", [1, 4, 9, 14])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize(("part", "name"), [(Side, "enter"), (Side, "round"), (ChainJob, "end"), (Deciding, "observe")])
def test_whatever_stops_them_texts_keep_what_they_have(model, begun, deciding, monkeypatch, part, name, error, at):
    plain = [each.tokens for each in model.generate(PROMPT, speculative=False, **SETTINGS).choices]
    act, calls = getattr(part, name), []

    def broken(self, *given, **more):
        calls.append(1)
        if len(calls) == at and begun is not None:
            raise error("out of order")
        return act(self, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(part, name, broken)
        run = model.start(PROMPT, speculative=CHAINS, **SETTINGS)
        with suppress(error, TruedrawError):
            list(run)
    found = run.result().choices
    assert [each.tokens for each in found] == [own[: len(one.tokens)] for own, one in zip(plain, found, strict=True)]
    assert [each.tokens for each in model.generate(PROMPT, speculative=False, **SETTINGS).choices] == plain


@pytest.mark.parametrize("fails", ["begin", "run"])
def test_where_they_cannot_begin_the_round_is_python_s(model, begun, deciding, monkeypatch, fails) -> None:
    several = drawn(model, speculative=TRAVERSAL)
    begun.clear()
    if fails == "begin":
        monkeypatch.setattr(ChainJob, "begin", lambda *_: 0)
    else:
        monkeypatch.setattr(Abreast, "_passes", lambda *_: None)
    assert drawn(model, speculative=TRAVERSAL) == several
    assert not begun


class Told:
    """A controller that learns nothing, and asks for no offers."""

    def budget(self, askers):
        return [{} for _ in askers]

    def observe(self, rounds):
        """Whoever decides for all jobs learns."""


class InTheEnd(Told):
    """Chains of two by the first of two drafters, and, where a text has no room for one, a token each by the other."""

    def __init__(self) -> None:
        self.left, self.choices = 0, {}

    def choose(self, askers, offers, seconds):
        fit = all(asker.room > 1 for asker in askers) and len(askers) in (len(self.choices), 4)
        self.left = self.left - 1 if self.left and fit else 15
        self.choices = {asker.sample: Choice(asker.sources[not fit], tokens=1 + fit) if asker.room else Choice()
                        for asker in askers}  # fmt: skip
        return [*self.choices.values()]

    def stands(self, samples):
        found = [self.choices.get(sample, Choice()) for sample in samples]
        stood = self.left and len(found) == len(self.choices) and all(choice.tokens == 2 for choice in found)
        return [Stand(self.left, choice.source, 2) for choice in found] if stood else None


@pytest.mark.parametrize("ends", [False, True])
def test_who_is_asked_behind_what_stood_has_heard_the_round_before(model, monkeypatch, ends) -> None:
    """Of four texts, two of which miss no round, where one has ended, or has no room."""
    plain = model.generate(PROMPT, speculative=False, **SETTINGS | {"n": 4}).choices[0].tokens
    monkeypatch.setattr(Speculation, "controller", lambda _: InTheEnd())
    monkeypatch.setattr(plan, "LONGEST", 1e6)
    heads = [{"method": "head", "draft_temperature": each, "draft_siblings": 1} for each in (1.0, 0.9)]
    drafting = {"method": "auto", "auto_sources": heads, "adaptive": False}
    for place in range(12, 40, 3):
        most, stop = (60, {"stop_token_ids": [plain[place]]}) if ends else (place, {})
        for rounds in drawn(model, speculative=drafting, n=4, max_tokens=most, **stop):
            lefts = [most - sum(len(done.tokens) for done in rounds[:number]) for number in range(len(rounds))]
            some = [done.drafted > 0 for done, left in zip(rounds, lefts, strict=True) if left > 1]
            assert all(some[1:])


class InTurn(Told):
    """Chains of two, in four rounds by one drafter and in the next four by the other."""

    def __init__(self) -> None:
        self.number, self.sources = 0, {}

    def choose(self, askers, offers, seconds):
        turn, self.number = self.number // 4 % 2, self.number + 1
        self.sources = {asker.sample: asker.sources[turn] for asker in askers if asker.room > 1}
        return [Choice(self.sources[each.sample], tokens=2) if each.room > 1 else Choice() for each in askers]

    def stands(self, samples):
        left = -self.number % 4 if {*samples} <= {*self.sources} else 0
        return [Stand(left, self.sources[each], 2) for each in samples] if left else None


def test_who_is_asked_when_nothing_stands_any_more_has_heard_the_round_before(model, monkeypatch) -> None:
    found, run = [], Drafted.run
    monkeypatch.setattr(Drafted, "run", lambda *given: found.append(run(*given)) or found[-1])
    monkeypatch.setattr(Speculation, "controller", lambda _: InTurn())
    monkeypatch.setattr(plan, "LONGEST", 1e6)
    heads = [{"method": "head", "draft_temperature": each, "draft_siblings": 1} for each in (1.0, 0.9)]
    drafting = {"method": "auto", "auto_sources": heads, "adaptive": False}
    for rounds in drawn(model, speculative=drafting, n=4, max_tokens=60):
        assert len({done.source for done in rounds if done.source}) == 2
        lefts = [60 - sum(len(done.tokens) for done in rounds[:number]) for number in range(len(rounds))]
        some = [done.drafted > 0 for done, left in zip(rounds, lefts, strict=True) if left > 2]
        assert all(some[1:])
    assert [ran and len(ran.times) for ran in found].count(3) > 2
