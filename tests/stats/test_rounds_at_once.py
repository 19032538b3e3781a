"""The certificate sees what goes wrong in rounds that come a few at once, and nowhere else."""

from __future__ import annotations

import pytest

from generate.one_text import beside_a_head, opened
from truedraw.draft.head.chain_job import ChainJob
from truedraw.generate.at_once.drafted import Drafted
from truedraw.generate.speculation import speculation
from truedraw.stats.check import Settings, Subject
from truedraw.stats.check.at_once import rounds_at_once

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


def test_where_there_are_none_it_says_so(model) -> None:
    finding = found(model, mirostat=2)
    assert finding.passed is None
    assert "skipped: no drafter of these has rounds at once" in finding.says


def another_law(monkeypatch) -> None:
    """The rule is told that all tokens were drawn from the law of the first one."""

    def told(self):
        told = straight(self)
        self._slate.laws[:] = self._slate.laws[0]
        return told

    straight = ChainJob._told
    monkeypatch.setattr(ChainJob, "_told", told)


def one_for_all(monkeypatch) -> None:
    """Samples abreast have the noise of the first."""
    desk = Drafted._desk

    def shared(self, place, drawn, judge):
        sample, own = drawn.guess.sample, drawn.guess.sample.randomness
        sample.randomness = type(own)(7, 0)
        try:
            return desk(self, place, drawn, judge)
        finally:
            sample.randomness = own

    monkeypatch.setattr(Drafted, "_desk", shared)


@pytest.mark.parametrize("bug", [another_law, one_for_all])
def test_a_bug_in_them_is_seen(model, monkeypatch, bug) -> None:
    bug(monkeypatch)
    finding = found(model, DRAFTING)
    assert finding.passed is False
    assert "are others where rounds come at once" in finding.says
