"""The certificate over the toy model: granted where sampling is exact, refused where anything is not."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest

from truedraw import load
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter, BadPrompt
from truedraw.generate.speculation import speculation
from truedraw.models.toy import TOY_TABLE
from truedraw.protocol import Scores
from truedraw.registry import BUILT_IN
from truedraw.stats.check import Finding, Settings, Subject, check, quick, spread
from truedraw.stats.check.controls import judged
from truedraw.stats.check.enumerated import enumeration
from truedraw.stats.check.html import to_html
from truedraw.stats.check.hypotheses import Test as Hypothesis
from truedraw.stats.check.planted import BUGS
from truedraw.stats.check.self_draft import SelfDrafter
from truedraw.testing import drafter_checks, random_table

SMALL = quick(Settings(samples=12, seed=1))
PROMPTS = [[0, 1, 3, 5, 0, 1], [0, 2, 4, 5]]


def subject(spec=None, engine=None, **params) -> Subject:
    model = load("tabular")
    if engine is not None:
        model.engine = engine
    return Subject(model, model.params(**params), speculation(spec), PROMPTS)


known_enumeration = cache(enumeration)


@pytest.fixture(autouse=True)
def enumerated_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The same code has the same law in every test, but for the one that plants a rule."""
    if "a_rule_with_a_bug" not in request.node.name:
        monkeypatch.setattr(sys.modules["truedraw.stats.check"], "enumeration", known_enumeration)


def by_key(certificate):
    return {section.key: section for section in certificate.sections}


@pytest.fixture(scope="module")
def granted():
    return check(subject(), SMALL)


def test_exact_sampling_gets_its_certificate(granted) -> None:
    assert granted.passed
    assert [section.key for section in granted.sections] == list("abcdef")
    assert all(section.findings for section in granted.sections)


def test_large_bugs_are_caught_in_the_same_run(granted) -> None:
    caught = [finding.figures["caught"] for finding in by_key(granted)["f"].findings]
    assert sum(caught) >= 3


def test_a_check_can_be_repeated_exactly(granted) -> None:
    def numbers(certificate):
        return [[finding.figures for finding in section.findings] for section in certificate.sections]

    assert numbers(check(subject(), SMALL)) == numbers(granted)


def test_what_an_engine_does_not_have_is_said(granted) -> None:
    invariance, distance = by_key(granted)["e"].findings
    assert invariance.passed is None
    assert "skipped" in invariance.says
    assert distance.passed is None
    assert "skipped" in distance.says


def test_the_certificate_is_json_and_the_report_is_whole(granted) -> None:
    found = json.loads(json.dumps(granted.to_dict(), allow_nan=False))
    assert found["passed"] is True
    assert len(found["plots"]["pit_counts"]) == 20
    assert sum(found["plots"]["pit_counts"]) == found["plots"]["tokens"]
    page = to_html(granted)
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    assert len(figures) == 4
    for figure in figures:
        assert ElementTree.fromstring(figure).find("svg") is not None
    assert not re.search(r"<script|src=|href=|url\(", page)
    for section in granted.sections:
        assert all(finding.name.replace("&", "&amp;") in page for finding in section.findings)


def test_the_report_escapes_what_a_model_is_called(granted) -> None:
    page = to_html(replace(granted, conditions={**granted.conditions, "model": "<b>&"}))
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page


@pytest.mark.parametrize("temperature", [0.0, 1.7])
def test_other_temperatures(temperature: float) -> None:
    assert check(subject(temperature=temperature), SMALL).passed


def test_text_laws_that_look_at_the_text() -> None:
    assert check(subject(presence_penalty=0.8, top_k=4), SMALL).passed


def test_a_rule_with_a_bug_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN["verifiers"], "planted", "generate.mutants:ArgmaxMatch")
    sections = by_key(check(subject({"rejection_sample_method": "planted"}), SMALL))
    assert not sections["a"].passed
    assert not sections["c"].passed
    assert sections["b"].passed


class NoisyRows(TabularEngine):
    """A row's logits depend on how many rows are computed with it."""

    def forward(self, works):
        shift = sum(len(work.proposal) for work in works)
        noise = np.random.default_rng(shift).normal(size=self.vocab_size) * 0.3 * (shift > 0)
        return [Scores(scores.logits + noise) for scores in super().forward(works)]


def test_an_engine_whose_rows_depend_on_their_company_breaks_seed_equality() -> None:
    sections = by_key(check(subject(engine=NoisyRows(TOY_TABLE)), SMALL))
    assert not sections["b"].passed
    finding = next(finding for finding in sections["b"].findings if finding.passed is False)
    assert finding.figures["logit_margin"] >= 0
    assert "differ" in finding.says


def blind(samples):
    return [Hypothesis("blind", 1.0, 0.0, 1), Hypothesis("blind too", 0.9, 0.0, 1, joint=True)]


def test_statistics_that_see_nothing_fail_their_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["truedraw.stats.check.controls"], "run_tests", blind)
    found = by_key(check(subject(), replace(SMALL, control_samples=32)))["f"]
    assert not found.passed
    assert any("NOT caught" in finding.says for finding in found.findings)


def test_a_bug_too_small_to_be_seen_is_no_failure() -> None:
    places = np.zeros((4, 4), dtype=[("distance", float), ("chance", float)])
    places["chance"] = 1
    sample = type("Fake", (), {"places": places})()
    finding = judged(BUGS[-1], [sample], blind([]), 0.01)
    assert isinstance(finding, Finding)
    assert finding.passed is None
    assert "enumeration sees it" in finding.says


@pytest.mark.slow
@pytest.mark.model
def test_the_default_model_gets_its_certificate() -> None:
    with load("smollm2-135m") as model:
        prompts = [model.tokenizer.encode("The cat sat on the mat. The dog sat on the")]
        found = check(Subject(model, model.params(), speculation(None), prompts), SMALL)
    assert found.passed
    assert by_key(found)["e"].findings[0].passed


@pytest.mark.parametrize("check", drafter_checks(lambda: SelfDrafter(TabularEngine(random_table(3, 1, 9)))), ids=str)
def test_the_drafter_of_the_controls_keeps_its_contract(check) -> None:
    check()


@pytest.mark.parametrize("settings", [{"alpha": 0.0}, {"alpha": 0.7}, {"alpha": float("nan")}, {"samples": 1}])
def test_settings_out_of_range(settings) -> None:
    with pytest.raises(BadParameter, match=next(iter(settings))):
        Settings(**settings)


def test_prompts_are_spread_over_their_file() -> None:
    assert spread(range(17), 4) == [0, 4, 8, 12]
    assert spread("ab", 4) == ["a", "b"]


def test_the_largest_seed() -> None:
    assert Settings(seed=2**64 - 1).seed_of(1) == 0


def test_a_grammar_would_end_the_texts() -> None:
    with pytest.raises(BadParameter, match="fixed length"):
        check(subject(regex="the cat"), SMALL)


def test_a_context_too_short_for_the_texts() -> None:
    with pytest.raises(BadPrompt, match="context of 20"):
        check(subject(engine=TabularEngine(TOY_TABLE, context_length=20)), SMALL)
