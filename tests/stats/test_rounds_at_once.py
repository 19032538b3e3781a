"""The certificate sees what goes wrong in rounds that come a few at once, and nowhere else."""

from __future__ import annotations

import pytest

from generate.one_text import beside_a_head, opened
from truedraw import load
from truedraw.draft.head.chain_job import ChainJob
from truedraw.draft.ngram import NgramDrafter
from truedraw.generate import guarded_drafter
from truedraw.generate.at_once.drafted import Drafted
from truedraw.generate.speculation import speculation
from truedraw.stats.check import Settings, Subject
from truedraw.stats.check.at_once import rounds_at_once
from truedraw.verify.fused.plain_rounds import PlainRounds

PROMPTS = "once upon a time there was", "the cat sat on"
SETTINGS = Settings(length=40, equality_prompts=2)
DRAFTING = {"method": "head", "num_speculative_tokens": 3}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = beside_a_head(tmp_path_factory.mktemp("at_once"), kind="attentive")
    with opened(place, draft=place.head, numerics="native") as loaded:
        yield loaded


def found(model, spec=None, **params):
    prompts = [model.tokenizer.encode(prompt) for prompt in PROMPTS]
    return rounds_at_once(Subject(model, model.params(**params), speculation(spec), prompts), SETTINGS)


@pytest.mark.parametrize("params", [{}, {"temperature": 0.7, "top_k": 20}, {"repetition_penalty": 1.2}], ids=str)
@pytest.mark.parametrize(("spec", "drafters"), [(None, 3), (DRAFTING, 2), ("suffix", 2), (False, 1)])
def test_they_are_the_rounds_that_come_one_by_one(model, spec, drafters, params) -> None:
    """Of one text and of three abreast, behind two prompts."""
    finding = found(model, spec, **params)
    assert finding.passed
    assert finding.figures["at_once"] > 50
    assert (finding.figures["texts"], finding.figures["drafters"]) == (8 * drafters, drafters)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["ngram-lm", "head-ngram"])
def test_what_drafters_learn_from_one_run_to_the_next_is_left_out(model, method, seed) -> None:
    """Shapes of trees and weights, which all texts of a model share."""
    prompts = [model.tokenizer.encode(prompt) for prompt in PROMPTS]
    subject = Subject(model, model.params(), speculation({"method": method, "ngram_lm_order": 3}), prompts)
    finding = rounds_at_once(subject, Settings(length=60, equality_prompts=2, seed=seed))
    assert finding.passed
    assert f"(none, {method})" in finding.says


@pytest.mark.parametrize("seed", range(3))
def test_texts_that_have_no_rounds_at_once_are_not_compared(seed) -> None:
    with load("tabular") as toy:
        prompts = [toy.tokenizer.encode(prompt) for prompt in ("once upon", "the cat sat on")]
        finding = rounds_at_once(Subject(toy, toy.params(), speculation(None), prompts), Settings(seed=seed))
    assert finding.passed is None


def test_where_there_are_none_it_says_so(model) -> None:
    finding = found(model, mirostat=2)
    assert finding.passed is None
    assert "skipped under this law" in finding.says
    assert "head left out: it has no rounds at once" in finding.says


def another_law(monkeypatch) -> None:
    """The rule is told that all tokens were drawn from the law of the last one."""

    def told(self, noise):
        told = straight(self, noise)
        self.slate.laws[:] = self.slate.laws[-1]
        return told

    straight = ChainJob._told
    monkeypatch.setattr(ChainJob, "_told", told)


def one_for_all(monkeypatch) -> None:
    """Samples abreast have the noise of the first."""
    decided_with(monkeypatch, "randomness", lambda own, _: type(own)(7, 0))


def law_of_the_first(monkeypatch) -> None:
    """Texts abreast are decided by the law of the first, whatever theirs is."""
    decided_with(monkeypatch, "law", lambda _, first: first)


def decided_with(monkeypatch, name, other) -> None:
    """What a sample has under that name is something else where rounds abreast are prepared: of its own, and that of
    the first text."""
    desk = Drafted._desk

    def prepared(self, place, drawn, judges):
        sample = drawn.guess.sample
        own = getattr(sample, name)
        if place == 0:
            self.first = own
        setattr(sample, name, other(own, self.first))
        try:
            return desk(self, place, drawn, judges)
        finally:
            setattr(sample, name, own)

    monkeypatch.setattr(Drafted, "_desk", prepared)


def failing(monkeypatch) -> None:
    """What compiled code asks a drafter for cannot be had."""

    def told(self, noise):
        raise ValueError("no chain")

    monkeypatch.setattr(ChainJob, "_told", told)


@pytest.mark.parametrize("bug", [another_law, one_for_all, law_of_the_first, failing])
def test_a_bug_in_them_is_seen(model, monkeypatch, bug) -> None:
    def is_no_bug(what, error):
        raise AssertionError(what) from error

    bug(monkeypatch)
    if bug is not failing:  # or it would be seen for another reason
        monkeypatch.setattr(guarded_drafter, "fault", is_no_bug)
    finding = found(model, DRAFTING | {"draft_siblings": 1, "draft_temperature": 1.0})
    assert finding.passed is False
    assert "are others where rounds come at once" in finding.says


def test_who_drafts_otherwise_the_next_time_or_fails_is_left_out(model, monkeypatch) -> None:
    calls, propose = [], NgramDrafter.propose

    def fails(self, *given):
        calls.append(len(calls))
        if len(calls) == 60:
            raise OSError("no network")
        return propose(self, *given)

    def once_in_two(self, states, budgets, randomness):
        calls.append(len(calls))
        return propose(self, states, [budget * (len(calls) % 2) for budget in budgets], randomness)

    for broken, why in ((fails, "ngram left out: it failed, "), (once_in_two, "ngram left out: it drafts otherwise")):
        calls.clear()
        monkeypatch.setattr(NgramDrafter, "propose", broken)
        finding = found(model, {"method": "ngram", "prompt_lookup_min": 1}, temperature=0.3)
        assert finding.passed
        assert why in finding.says


def test_what_rounds_at_once_leave_behind_is_no_learning(model, monkeypatch) -> None:
    """Nobody drafts: whatever is another text is a fault."""
    run, count = PlainRounds.kept, []

    def worse(self, asked):
        count.append(len(asked))
        return run(self, [each._replace(logits=each.logits[::-1]) for each in asked] if len(count) > 2 else asked)

    monkeypatch.setattr(PlainRounds, "kept", worse)
    finding = found(model, False)
    assert finding.passed is False
