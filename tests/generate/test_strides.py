"""Rounds that are computed a few at once are those that would have come one by one, and are told as such."""

from __future__ import annotations

import gc
import time
from dataclasses import replace

import numpy as np
import pytest

from generate.one_text import CONFIG, beside_a_head, opened
from truedraw import Model
from truedraw.control.fixed import FixedController
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head.kinds.attentive_memory import PLACES
from truedraw.draft.head.state import HeadState
from truedraw.draft.none import NoState
from truedraw.engine.cpu.paged_engine import PagedEngine
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.paged.stride import PagedStride
from truedraw.errors import EngineError
from truedraw.generate import seeds
from truedraw.generate.at_once import machine, plan, strides
from truedraw.generate.at_once.machine import Machine
from truedraw.generate.at_once.machines import Machines
from truedraw.generate.speculation import Speculation
from truedraw.protocol import Choice, Proposal, Stand, Work
from truedraw.verify.coupled import CoupledVerifier

PROMPT = "once upon a time there was"
SETTINGS = {"max_tokens": 60, "ignore_eos": True, "seed": 3}


def chains(tokens: int, **more) -> dict:
    """Of a temperature of their own: a tuned one depends on what was written before."""
    known = {"method": "head", "adaptive": False, "num_speculative_tokens": tokens, "draft_temperature": 1.0}
    return known | more


DRAFTING = {
    "nothing": False,
    "a token": chains(1),
    "trees": chains(4),
    "by another rule": chains(2, rejection_sample_method="traversal", draft_siblings=2),
    "chains by it": chains(4, rejection_sample_method="traversal", draft_siblings=1),
    "block": chains(3, rejection_sample_method="block"),
    "auto": None,
    "looked up": {"method": "suffix", "adaptive": False, "num_speculative_tokens": 3},
    "no seed's rule": {"method": "head", "rejection_sample_method": "traversal"},
}
LAWS = {
    "plain": {},
    "cut": {"top_p": 0.9, "top_k": 50, "temperature": 0.8},
    "greedy": {"temperature": 0},
    "edits": {"repetition_penalty": 1.2, "presence_penalty": 0.4, "logit_bias": {5: 1.0}, "max_tokens": 90},
    "edits that cut": {"frequency_penalty": 0.3, "top_k": 20, "min_tokens": 9},
    "bans": {"no_repeat_ngram": 2},
}
TIMES = {"draft_seconds": 0.0, "engine_seconds": 0.0, "seconds": 0.0}


@pytest.fixture(scope="module", params=["recurrent", "attentive"])
def model(tmp_path_factory, request) -> Model:
    """Compiled code runs the chains of a head that looks back, and rounds that draft nothing."""
    place = beside_a_head(tmp_path_factory.mktemp("strides"), kind=request.param)
    with opened(place, draft=place.head, numerics="native") as loaded:
        loaded.kind = request.param
        yield loaded


@pytest.fixture
def taken(monkeypatch) -> list[int]:
    """How many rounds came at once, each time that some did."""
    found, take = [], strides.Strides.take

    def watched(self, turn):
        rounds = take(self, turn)
        found.extend([len(rounds)] if rounds else [])
        return rounds

    monkeypatch.setattr(strides.Strides, "take", watched)
    return found


@pytest.fixture
def begun(monkeypatch) -> list[int]:
    """How many rounds began with one in which they were decided, each time that some did."""
    found, begun = [], strides.Strides.take_decided

    def watched(self):
        rounds = begun(self)
        found.extend([len(rounds)] if rounds else [])
        return rounds

    monkeypatch.setattr(strides.Strides, "take_decided", watched)
    return found


class Deciding:
    """protocol.Controller and Stands: chains of two, decided in every fourth round."""

    def __init__(self) -> None:
        self.calls, self.left, self.source = [], 0, ""

    def budget(self, askers):
        self.calls.append("budget")
        return [{} for _ in askers]

    def choose(self, askers, offers, seconds):
        (asker,) = askers
        self.calls.append("decide" if not self.left else "stand")
        self.left, self.source = self.left - 1 if self.left else 3, asker.sources[0] if asker.sources else ""
        return [Choice(self.source, tokens=2) if asker.room > 1 else Choice()]

    def stands(self, samples):
        return [Stand(self.left, self.source, 2)] * len(samples) if self.left and self.source else None

    def observe(self, rounds):
        """Whoever decides for all jobs learns."""


@pytest.fixture
def deciding(monkeypatch) -> list[Deciding]:
    """The controllers of all runs that are not adaptive."""
    found: list[Deciding] = []

    def controller(self):
        found.append(Deciding())
        return found[-1]

    monkeypatch.setattr(Speculation, "controller", controller)
    return found


@pytest.fixture
def by_machine(monkeypatch) -> list[int]:
    """How many of them compiled code ran, each time that it was asked for some."""
    found, run = [], Machine.run

    def watched(self, crew, plan, seconds, ran):
        before = len(ran)
        some = run(self, crew, plan, seconds, ran)
        found.append(len(ran) - before)
        return some

    monkeypatch.setattr(Machine, "run", watched)
    return found


@pytest.fixture
def drafts(monkeypatch) -> list:
    """What was drafted in them, token by token, and with what confidence; time has no part in how many there are."""
    found, told = [], strides.Strides._told

    def watched(self, plan, ran, **more):
        proposal = ran.proposal
        found.append((proposal.tokens.tolist(), None if proposal.confidence is None else proposal.confidence.tolist()))
        return told(self, plan, ran, **more)

    monkeypatch.setattr(plan, "LONGEST", 1e6)
    monkeypatch.setattr(strides.Strides, "_told", watched)
    return found


@pytest.fixture
def by_python(monkeypatch) -> None:
    """Compiled code runs none of them."""
    monkeypatch.setattr(Machines, "of", lambda *_: None)


def without(monkeypatch) -> None:
    monkeypatch.setattr(PagedEngine, "stride", lambda *_: None)


def breaks(monkeypatch, part, name: str, at: int) -> list[int]:
    """A method raises in call number `at`; a mark for each call."""
    act, calls = getattr(part, name), []

    def broken(self, *given, **more):
        calls.append(1)
        if len(calls) == at:
            raise RuntimeError("out of order")
        return act(self, *given, **more)

    monkeypatch.setattr(part, name, broken)
    return calls


def drawn(model: Model, prompt: str = PROMPT, **settings) -> list:
    """All that is known of the rounds of a run, but for what they took."""
    rounds = [done for step in model.start(prompt, **SETTINGS | settings) for done in step]
    lates = [None if done.late_seconds is None else 0.0 for done in rounds]
    return [replace(done, sample=0, late_seconds=late, **TIMES) for done, late in zip(rounds, lates, strict=True)]


# -------------------------------------------------------------------------------------------- the same rounds


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("drafting", ["nothing", "a token", "looked up", "by another rule", "chains by it", "block"])
def test_they_are_the_rounds_that_come_one_by_one(model, taken, by_machine, drafts, monkeypatch, drafting, law) -> None:
    """Their tokens, origins, logarithms, and what was drafted and kept; a head's memory is part of that.

    Compiled code runs those without drafts, and chains of a head that looks back under the rules that it knows."""
    monkeypatch.setattr(seeds.Seeds, "next", lambda _, seed: seed)  # of other rules, which take another one each time
    settings = {"speculative": DRAFTING[drafting], **LAWS[law]}
    several = drawn(model, **settings)
    at_once, taken[:] = list(taken), []
    is_taken = law != "bans"  # laws that are the same all over a text, but for tokens that they count
    is_run = drafting == "nothing" or (model.kind == "attentive" and drafting in {"a token", "chains by it"})
    if is_taken and is_run:
        assert sum(by_machine) == sum(at_once)
        known, drafts[:] = list(drafts), []
        monkeypatch.setattr(Machines, "of", lambda *_: None)
        assert drawn(model, **settings) == several
        assert drafts == known
        taken.clear()
    without(monkeypatch)
    assert drawn(model, **settings) == several
    assert not taken
    assert (max(at_once, default=0) >= 8) == is_taken


@pytest.mark.parametrize("ways", ["machine", "both"])
@pytest.mark.parametrize("drafting", ["nothing", "chains by it"])
@pytest.mark.parametrize("law", ["plain", "edits"])
def test_compiled_code_goes_on_behind_its_own_rounds_and_python_s(
    model, drafts, monkeypatch, drafting, law, ways
) -> None:
    """Rounds that were decided together are run a few at a time, or some of them by Python in between."""
    monkeypatch.setattr(seeds.Seeds, "next", lambda _, seed: seed)
    settings, run, behind = {"speculative": DRAFTING[drafting], **LAWS[law]}, Machine.run, list[int]()

    def stopped(self, crew, plan, seconds, ran):
        before = len(ran)
        if ways == "both" and before % 2:
            return False
        some = run(self, crew, plan, seconds, ran)
        behind.append(before)
        return some

    monkeypatch.setattr(machine, "MOST", 3)
    monkeypatch.setattr(Machine, "run", stopped)
    several = drawn(model, **settings)
    assert (max(behind, default=0) > 3) == (drafting == "nothing" or model.kind == "attentive")
    known, drafts[:] = list(drafts), []
    monkeypatch.setattr(Machines, "of", lambda *_: None)
    assert drawn(model, **settings) == several
    assert drafts == known


@pytest.mark.parametrize("drafting", ["auto", "trees", "no seed's rule"])
def test_where_others_decide_what_is_drafted_texts_are_the_same(model, taken, drafting) -> None:
    text = [token for done in drawn(model, speculative=False) for token in done.tokens]
    coupled = chains(7, adaptive=True) if drafting == "no seed's rule" else DRAFTING[drafting]
    for _ in range(4):
        assert [token for done in drawn(model, speculative=coupled) for token in done.tokens] == text
    assert sum(len(done.tokens) for done in drawn(model, speculative=DRAFTING[drafting])) == SETTINGS["max_tokens"]
    assert max(taken) > 2


def test_a_text_that_was_written_before_lies_in_other_pages(model, taken) -> None:
    """What is computed anew gives way to pages that hold the same, in the midst of a text."""
    first = drawn(model, speculative=False)
    assert drawn(model, speculative=False) == first
    tokens = [token for done in first for token in done.tokens]
    for tokens_each in (1, 2, 4):
        assert [token for done in drawn(model, speculative=chains(tokens_each)) for token in done.tokens] == tokens
    assert taken


def test_a_text_that_is_alone_behind_another_has_a_law_of_its_own(model, by_machine) -> None:
    """Of what was made for the one before, that was alone until it came, nothing stays."""
    laws = {"repetition_penalty": 1.8}, {"repetition_penalty": 1.05, "frequency_penalty": 0.5}
    wanted = [model.generate(PROMPT, speculative=False, **SETTINGS | law).choices[0].tokens for law in laws]
    by_machine.clear()
    with model.batch(logits_cache_bytes=0) as batch:
        first = batch.add(PROMPT, speculative=False, **SETTINGS | laws[0])
        while sum(by_machine) < 20:
            batch.step()
        second = batch.add(PROMPT, speculative=False, **SETTINGS | laws[1])
        while batch.step():
            pass
    assert [run.result().choices[0].tokens for run in (first, second)] == wanted
    assert sum(by_machine) > 20


def test_the_first_token_waits_for_no_other(model, taken) -> None:
    drawn(model, speculative=False)
    assert taken[:3] == [4, 16, 16]
    taken.clear()
    drawn(model, speculative=False, max_tokens=2)
    assert taken == [1]


# -------------------------------------------------------------------------------------------- decided within the first


def test_rounds_begin_with_the_one_in_which_they_were_decided(
    model, taken, begun, deciding, drafts, monkeypatch
) -> None:
    """The controller is asked and told of each as if they came one by one, and they are the same."""
    several = drawn(model, speculative=chains(2))
    assert begun[1:4] == [4, 4, 4]
    assert len(taken) < len(begun)
    known, drafts[:] = list(drafts), []
    monkeypatch.setattr(strides.Strides, "begins_with", lambda *_: False)
    begun.clear()
    assert drawn(model, speculative=chains(2)) == several
    assert not begun
    assert deciding[0].calls == deciding[1].calls
    assert deciding[0].calls.count("decide") > 4
    without(monkeypatch)
    assert drawn(model, speculative=chains(2)) == several
    assert deciding[0].calls == deciding[2].calls
    assert known


class InTheEnd(Deciding):
    """Chains of four by the first of two drafters, and of what there is room for by the other."""

    def choose(self, askers, offers, seconds):
        (asker,) = askers
        first, other = asker.sources or ("", "")
        self.left, self.source = self.left - 1 if self.left else 15, first
        return [Choice(first, tokens=4) if asker.room > 3 else Choice(other, tokens=asker.room)]

    def stands(self, samples):
        return [Stand(self.left, self.source, 4)] * len(samples) if self.left and self.source else None


@pytest.mark.parametrize("most", range(8, 29, 4))
def test_who_is_asked_where_a_chain_has_no_room_has_heard_the_round_before(model, taken, monkeypatch, most) -> None:
    """A decision stands until then, and nobody else is asked; in the last few tokens of a text they are."""
    monkeypatch.setattr(Speculation, "controller", lambda _: InTheEnd())
    monkeypatch.setattr(plan, "LONGEST", 1e6)
    heads = [{"method": "head", "draft_temperature": each, "draft_siblings": 1} for each in (1.0, 0.9)]
    drafting = {"method": "auto", "auto_sources": heads, "adaptive": False}
    several = drawn(model, speculative=drafting, max_tokens=most)
    assert taken
    without(monkeypatch)
    assert drawn(model, speculative=drafting, max_tokens=most) == several
    assert any(done.drafted and "0.9" in done.source for done in several)


def test_the_first_of_them_bears_what_it_took_to_decide(model, begun, deciding, by_python, monkeypatch) -> None:
    choose = Deciding.choose

    def slow(self, *given):
        time.sleep(0.0 if self.left else 0.05)
        return choose(self, *given)

    monkeypatch.setattr(Deciding, "choose", slow)
    rounds = [done for step in model.start(PROMPT, speculative=chains(2), **SETTINGS) for done in step]
    asked = [call for call in deciding[0].calls if call in ("decide", "stand")]
    long = [done.seconds > 0.04 for done in rounds]
    assert begun
    assert [each for each, call in zip(long, asked, strict=True) if call == "decide"] == [True] * asked.count("decide")
    assert sum(long) < len(long) / 2


@pytest.mark.parametrize("keeps_all", [False, True])
def test_a_text_ends_within_rounds_that_were_decided_in_the_first(model, deciding, monkeypatch, keeps_all) -> None:
    """At a token, at a string, and at its limit, wherever that is; nothing comes behind it."""
    plain = model.generate(PROMPT, speculative=False, **SETTINGS).choices[0]
    predicted = {"method": "prediction", "prediction": plain.tokens, "adaptive": False}
    begun, ends = strides.Strides.take_decided, []

    def watched(self):
        rounds = begun(self)
        ends.extend(done.finish_reason for done in rounds or () if done.finish_reason)
        return rounds

    monkeypatch.setattr(strides.Strides, "take_decided", watched)
    for at in range(1, 24):
        by_token, by_text = {"stop_token_ids": [plain.tokens[at]]}, {"stop": [plain.text[at + 3 : at + 6]]}
        for end in ({"max_tokens": at}, by_token, by_text):
            settings = SETTINGS | end
            expected = model.generate(PROMPT, speculative=False, **settings).choices[0]
            found = model.generate(PROMPT, speculative=predicted if keeps_all else chains(2), **settings).choices[0]
            assert (found.tokens, found.text) == (expected.tokens, expected.text)
            assert found.finish_reason == expected.finish_reason
    assert ends.count("stop") > 8
    assert "length" in ends or not keeps_all  # that needs a round that keeps all of its drafts


@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_what_stops_rounds_that_were_decided_within_the_first(model, by_python, deciding, begun, monkeypatch, number,
                                                              error) -> None:  # fmt: skip
    plain = model.generate(PROMPT, speculative=False, **SETTINGS).choices[0].tokens
    score, calls = PagedStride.score, []

    def broken(self, proposal):
        calls.append(1)
        if len(calls) == number:
            raise error("out of order")
        return score(self, proposal)

    monkeypatch.setattr(PagedStride, "score", broken)
    run = model.start(PROMPT, speculative=chains(2), **SETTINGS)
    with pytest.raises((error, Exception), match="out of order"):
        list(run)
    kept = run.result().choices[0].tokens
    assert kept == plain[: len(kept)]
    assert len(kept) >= number
    calls = deciding[-1].calls
    assert calls.count("budget") == len(calls) / 2 >= number  # nobody is asked twice in a round


# -------------------------------------------------------------------------------------------- ends


@pytest.mark.parametrize("drafting", ["nothing", "a token", "trees"])
@pytest.mark.parametrize("most", range(1, 20))
def test_no_more_tokens_than_were_asked_for(model, drafting, most) -> None:
    rounds = drawn(model, speculative=DRAFTING[drafting], max_tokens=most)
    assert sum(len(done.tokens) for done in rounds) == most
    assert [done.finish_reason for done in rounds] == [None] * (len(rounds) - 1) + ["length"]


@pytest.mark.parametrize("drafting", ["nothing", "a token", "trees"])
def test_a_text_ends_where_it_is_told_to(model, taken, monkeypatch, drafting) -> None:
    """By a token or a string, wherever in a few rounds that comes; nothing is written behind it."""
    whole = model.generate(PROMPT, speculative=False, **SETTINGS).choices[0]
    for end in range(8, 30):
        found = model.generate(PROMPT, speculative=DRAFTING[drafting], stop_token_ids=[whole.tokens[end]], **SETTINGS)
        first = whole.tokens.index(whole.tokens[end])
        assert found.choices[0].tokens == whole.tokens[: first + 1]
        assert found.choices[0].finish_reason == "stop"
        text = whole.text[: 2 + end]
        stopped = model.generate(PROMPT, speculative=DRAFTING[drafting], stop=[text[-2:]], **SETTINGS)
        assert stopped.text == whole.text[: whole.text.index(text[-2:])]
        with monkeypatch.context() as patched:
            without(patched)
            alone = model.generate(PROMPT, speculative=False, stop=[text[-2:]], **SETTINGS).choices[0]
        assert (stopped.choices[0].tokens, stopped.choices[0].finish_reason) == (alone.tokens, "stop")
    assert taken


def test_up_to_the_end_of_the_context(model, taken) -> None:
    settings = {"max_tokens": 10_000, "ignore_eos": True, "seed": 1}
    texts = [model.generate(PROMPT, speculative=kind, **settings) for kind in (False, chains(1), chains(4))]
    assert len({text.choices[0].tokens for text in texts}) == 1
    assert len(model.tokenizer.encode(PROMPT)) + len(texts[0].choices[0].tokens) in (
        CONFIG.context_length,
        CONFIG.context_length + 1,
    )
    assert max(taken) == strides.MOST


def test_what_a_head_remembers_is_the_same_however_long_the_text(model, by_machine, drafts, monkeypatch) -> None:
    """It looks back at so many rows, and now and then makes room for more."""

    def whole() -> list:
        rounds = drawn(model, speculative=chains(2, draft_siblings=1), max_tokens=10_000)
        return [replace(done, pass_rows=0) for done in rounds]  # text that was written before lies in other pages

    several = whole()
    assert sum(len(done.tokens) for done in several) > PLACES
    assert (sum(by_machine) > 0) == (model.kind == "attentive")
    known, drafts[:] = list(drafts), []
    monkeypatch.setattr(Machines, "of", lambda *_: None)
    assert whole() == several
    assert drafts == known


def test_a_head_that_looks_back_hears_of_plain_rounds(model, by_machine, monkeypatch) -> None:
    """Whoever runs them it is told the same, and what it drafts behind them is the same."""
    stands, commit, asked, heard = FixedController.stands, HeadState.commit, [], []

    def told(self, tokens, scores=None):
        heard.extend([*tokens] if scores is None else [(*tokens, scores.hidden[: len(tokens)].tobytes())])
        commit(self, tokens, scores)

    def plain_at_first(self, samples):
        asked.append(samples)
        return [Stand(100)] if len(asked) <= 2 else stands(self, samples)

    def whole() -> list:
        asked.clear()
        heard.clear()
        rounds = drawn(model, speculative=chains(2))
        return rounds, heard[:21] if model.kind == "attentive" else None

    monkeypatch.setattr(HeadState, "commit", told)
    monkeypatch.setattr(FixedController, "stands", plain_at_first)
    monkeypatch.setattr(plan, "LONGEST", 1e6)
    several = whole()
    assert [done.drafted for done in several[0]][1:22] == [0] * 20 + [2]
    assert sum(by_machine[:2]) == 20
    monkeypatch.setattr(Machines, "of", lambda *_: None)
    assert whole() == several


# -------------------------------------------------------------------------------------------- who looks on, what breaks


@pytest.mark.parametrize("settings", [{"logprobs": 2}, {"no_repeat_ngram": 3}])
def test_one_by_one_where_somebody_looks_on(model, taken, settings) -> None:
    drawn(model, speculative=False, **settings)
    assert not taken


def test_a_drafter_that_fails_is_switched_off_and_the_text_goes_on(model, by_python, monkeypatch) -> None:
    plain = model.generate(PROMPT, speculative=False, **SETTINGS)
    propose, calls = HeadDrafter.propose, []

    def broken(self, *given):
        calls.append(1)
        if len(calls) == 11:
            raise RuntimeError("out of luck")
        return propose(self, *given)

    monkeypatch.setattr(HeadDrafter, "propose", broken)
    found = model.generate(PROMPT, speculative=chains(1), **SETTINGS)
    assert found.choices[0].tokens == plain.choices[0].tokens
    assert "out of luck" in found.fallback
    assert len(calls) == 11


@pytest.mark.parametrize(("part", "name"), [(PagedStride, "keep"), (NoState, "commit"), (Machine, "run")])
def test_what_fails_behind_rounds_that_compiled_code_ran(model, monkeypatch, part, name) -> None:
    """The text ends, and what it has is what it would have had."""
    plain = model.generate(PROMPT, speculative=False, **SETTINGS).choices[0]
    breaks(monkeypatch, part, name, at=4)
    run = model.start(PROMPT, speculative=False, **SETTINGS)
    with pytest.raises(Exception, match="out of order"):
        list(run)
    kept = run.result().choices[0]
    assert len(kept.tokens) >= 3
    assert kept.tokens == plain.tokens[: len(kept.tokens)]


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize(("part", "name"), [(PagedStride, "score"), (CoupledVerifier, "__call__"), (NoState, "commit")])
def test_whatever_fails_in_a_round_loses_nothing_that_came_before(
    model, by_python, monkeypatch, part, name, number
) -> None:
    """The first round of a few, the last one, or one in between: the text is what it was, and ends there."""
    plain = model.generate(PROMPT, speculative=False, **SETTINGS).choices[0]
    calls = breaks(monkeypatch, part, name, at=number)
    run = model.start(PROMPT, speculative=False, **SETTINGS)
    with pytest.raises(Exception, match="out of order"):
        list(run)
    assert len(calls) == number  # nothing is tried again
    kept = run.result().choices[0]
    assert kept.tokens == plain.tokens[: len(kept.tokens)]
    assert len(kept.tokens) == number - (part is not PagedStride)
    monkeypatch.undo()
    assert model.generate(PROMPT, speculative=False, **SETTINGS).choices[0].tokens == plain.tokens


def test_an_engine_that_fails_ends_all_who_have_begun(model, by_python, monkeypatch) -> None:
    """As an error in any other pass does."""
    score, calls = PagedStride.score, []

    def broken(self, proposal):
        calls.append(1)
        if len(calls) == 5:  # the first of the second stride
            waiting.append(batch.add(PROMPT, speculative=False, **SETTINGS))
            raise RuntimeError("out of order")
        return score(self, proposal)

    monkeypatch.setattr(PagedStride, "score", broken)
    waiting: list = []
    with model.batch(logits_cache_bytes=0) as batch:
        first = batch.add(PROMPT, speculative=False, **SETTINGS)
        while batch.step():
            pass
        assert "out of order" in str(first.error)
        assert len(first.result().choices[0].tokens) == 5
        assert waiting[0].error is None
        assert len(waiting[0].result().choices[0].tokens) == SETTINGS["max_tokens"]


@pytest.mark.parametrize("number", range(1, 12))
def test_who_comes_behind_a_pass_that_failed_has_no_part_in_it(model, by_python, monkeypatch, number) -> None:
    """Also where its error waits until rounds before it are handed out, and whoever it ends is cancelled meanwhile."""
    for is_cancelled in (False, True):
        with monkeypatch.context() as patched, model.batch(logits_cache_bytes=0) as batch:
            calls = breaks(patched, PagedStride, "score", at=number)
            first = batch.add(PROMPT, speculative=False, **SETTINGS)
            while len(calls) < number:
                batch.step()
            others = [batch.add(PROMPT, speculative=False, **SETTINGS) for _ in range(2)]
            if is_cancelled:
                first.cancel()
            while batch.step():
                pass
            assert "out of order" in str(first.error)
            assert len(first.result().choices[0].tokens) == number
            assert [other.error for other in others] == [None, None]
            assert [len(other.result().choices[0].tokens) for other in others] == [SETTINGS["max_tokens"]] * 2
    assert model.engine.cache_use().pages_held == 0


@pytest.mark.parametrize("odd", [lambda rows: rows[:, 1:], lambda rows: rows[:0], lambda rows: rows.astype(np.float16)])
def test_rows_of_other_sizes_draw_no_token(model, by_python, monkeypatch, odd) -> None:
    score, calls = PagedStride.score, []

    def broken(self, proposal):
        calls.append(1)
        found = score(self, proposal)
        return replace(found, logits=odd(found.logits)) if len(calls) == 3 else found

    monkeypatch.setattr(PagedStride, "score", broken)
    run = model.start(PROMPT, speculative=False, **SETTINGS)
    with pytest.raises(EngineError, match=r"the engine gave logits of these shapes and types: \["):
        list(run)
    assert len(run.result().choices[0].tokens) == 3


@pytest.mark.parametrize("at", range(2, 14))
def test_an_interruption_keeps_the_rounds_that_are_over(model, by_python, monkeypatch, at) -> None:
    score, calls = PagedStride.score, []

    def interrupted(self, proposal):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return score(self, proposal)

    plain = model.generate(PROMPT, speculative=False, **SETTINGS).choices[0]
    monkeypatch.setattr(PagedStride, "score", interrupted)
    run = model.start(PROMPT, speculative=False, **SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        list(run)
    kept = run.result().choices[0]
    assert kept.tokens == plain.tokens[:at]
    assert plain.text.startswith(kept.text)
    assert kept.text == model.tokenizer.decode(kept.tokens) or not plain.text.isascii()


def test_whoever_comes_or_goes_waits_for_no_further_round(model, taken, by_python, monkeypatch) -> None:
    """A job that is added, a run that is cancelled, and a batch that is closed, in the midst of rounds at once."""
    score, acts = PagedStride.score, {}

    def watched(self, proposal):
        passes.append(1)
        acts.get(len(passes), lambda: None)()
        return score(self, proposal)

    monkeypatch.setattr(PagedStride, "score", watched)
    for act in ("add", "cancel", "close"):
        passes: list[int] = []
        batch = model.batch(logits_cache_bytes=0)
        run = batch.add(PROMPT, speculative=False, **SETTINGS)
        do = {
            "add": lambda b=batch: b.add("a", speculative=False, **SETTINGS),
            "cancel": run.cancel,
            "close": batch.close,
        }
        acts = {6: do[act]}  # the second pass of the second stride
        taken.clear()
        while batch.step():
            if len(passes) >= 6:
                break
        assert taken[:2] == [4, 2], act
        batch.close()


def test_slow_passes_do_not_come_at_once(model, taken, monkeypatch) -> None:
    monkeypatch.setattr(plan, "LONGEST", 0.0)
    drawn(model, speculative=False)
    assert set(taken) == {1}


def test_who_reads_along_gets_less_at_once(model, taken, monkeypatch) -> None:
    monkeypatch.setattr(plan, "READ", 0.0)
    text = "".join(piece.text for piece in model.stream(PROMPT, speculative=False, **SETTINGS))
    assert set(taken) == {1}
    assert model.generate(PROMPT, speculative=False, **SETTINGS).text == text
    assert max(taken) == strides.MOST


def test_where_pages_are_short_rounds_come_one_by_one(model, taken, monkeypatch) -> None:
    plain = drawn(model, speculative=chains(1))
    taken.clear()
    monkeypatch.setattr("truedraw.engine.cpu.paged_engine.has_pages", lambda *_: False)
    assert drawn(model, speculative=chains(1)) == plain
    assert not taken


# -------------------------------------------------------------------------------------------- the engine


def test_its_rows_have_the_bits_of_other_passes(model) -> None:
    """Chains, a tree in between, and nothing; the text then is computed but for its last token."""
    rng, engine = np.random.default_rng(0), model.engine
    prompt = model.tokenizer.encode(PROMPT)
    one, other = engine.open(prompt, alone=True), engine.open(prompt)
    for text in (one, other):
        engine.forward([Work(text)])
        text.commit([5])
    stride = engine.stride(other, tokens=24, drafts=3)
    drafts = [Proposal.chain(rng.integers(0, 90, n).tolist()) for n in (1, 3, 0, 2)]
    tree = Proposal(np.array([1, 2, 3]), np.array([-1, -1, 0]), (None,) * 3)
    for proposal in (*drafts, tree, drafts[1]):
        scored = stride.score(proposal)
        found = scored.logits.copy(), scored.hidden.copy()
        wanted = engine.forward([Work(one, proposal)])[0]
        assert np.array_equal(found[0], wanted.logits)
        assert np.array_equal(found[1], wanted.hidden)
        first = 1 if proposal is tree else 0  # another branch than the one whose slots stay
        kept = [*proposal.tokens[first : first + 1].tolist(), 7]
        stride.keep(kept)
        one.commit(kept)
    stride.end()
    assert other.tokens == one.tokens
    assert other.num_uncached == one.num_uncached == 1
    assert np.array_equal(engine.forward([Work(other)])[0].logits, engine.forward([Work(one)])[0].logits)
    one.close()
    other.close()


def test_a_stride_that_is_dropped_changes_nothing(model) -> None:
    engine = model.engine
    text = engine.open(model.tokenizer.encode(PROMPT))
    logits = engine.forward([Work(text)])[0].logits.copy()
    stride = engine.stride(text, tokens=12, drafts=2)
    stride.score(Proposal.chain([1, 2]))
    stride.keep([1, 3])
    stride.score(Proposal.chain([4]))
    assert text.tokens == model.tokenizer.encode(PROMPT)
    assert np.array_equal(engine.forward([Work(text)])[0].logits, logits)
    text.close()


def test_none_for_a_text_that_is_not_computed_or_has_no_room(model) -> None:
    engine = model.engine
    text: PagedSequence = engine.open([1, 2, 3], alone=True)
    assert engine.stride(text, tokens=2, drafts=0) is None
    engine.forward([Work(text)])
    assert engine.stride(text, tokens=2, drafts=0) is not None
    assert engine.stride(text, tokens=CONFIG.context_length, drafts=0) is None
    text.close()


def test_they_come_again_once_first_layers_draft_no_more(model, taken) -> None:
    """While these draft they look for what is computed of a text, round by round."""
    early = {"method": "early-exit", "adaptive": False, "num_speculative_tokens": 2}
    drafted = model.generate("once upon a time", seed=1, max_tokens=12, ignore_eos=True, speculative=early)
    assert drafted.stats.drafted
    assert not taken
    gc.collect()  # whoever drafted
    drafting = {"method": "head", "adaptive": False, "num_speculative_tokens": 2}
    for number, speculative in enumerate((False, drafting)):
        model.generate(f"once upon {number}", seed=3, max_tokens=30, ignore_eos=True, speculative=speculative)
        assert max(taken) > 1
        taken.clear()
