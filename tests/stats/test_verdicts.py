"""From findings to a verdict: every section counts, and p-values are judged as one family."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from truedraw.stats.check import real_text
from truedraw.stats.check.controls import judged
from truedraw.stats.check.drawing import Drawn
from truedraw.stats.check.family import smallest_visible
from truedraw.stats.check.hypotheses import Sample
from truedraw.stats.check.hypotheses import Test as Hypothesis
from truedraw.stats.check.planted import BUGS
from truedraw.stats.check.records import Certificate, Finding, Section
from truedraw.stats.check.replay import PLACE
from truedraw.stats.check.settings import POWER

ALPHA = 0.05
FAMILY = 8
GOOD = Certificate(tuple(Section(key, key, (Finding("fine", True, ""),)) for key in "abcdef"), {}, {}, 0.0)


def with_finding(key: str, passed: bool | None) -> Certificate:
    sections = [
        replace(each, findings=(*each.findings, Finding("more", passed, ""))) if each.key == key else each
        for each in GOOD.sections
    ]
    return replace(GOOD, sections=tuple(sections))


@pytest.mark.parametrize("key", list("abcdef"))
def test_one_failed_finding_of_any_section_refuses_the_certificate(key: str) -> None:
    assert GOOD.passed
    assert with_finding(key, None).passed
    refused = with_finding(key, False)
    assert not refused.passed
    assert not refused.to_dict()["passed"]
    assert [section["key"] for section in refused.to_dict()["sections"] if not section["passed"]] == [key]


def test_where_statistics_alone_refuse_it_the_chance_of_a_false_alarm_is_told(monkeypatch) -> None:
    monkeypatch.setattr(real_text, "run_tests", lambda samples: family(ALPHA / FAMILY / 9))
    found, _ = real_text.findings([sample()], ALPHA)
    statistic = next(each for each in found if each.name == "test 0")
    few, wrong = Finding("few", False, "", too_little=True), Finding("wrong", False, "")

    def doubt(*findings: Finding) -> str | None:
        return replace(GOOD, sections=(Section("c", "c", findings),), conditions={"alpha": ALPHA}).doubt

    said = doubt(statistic, few)
    assert said is not None
    assert "probability 0.05 at most, all of them together; look again with another --seed" in said
    assert [doubt(), doubt(few), doubt(wrong), doubt(statistic, wrong)] == [None] * 4


def family(p_value: float) -> list[Hypothesis]:
    """One test that stands out among others that do not."""
    others = [Hypothesis(f"test {i}", 0.9, 0.0, 100, joint=i == 1) for i in range(1, FAMILY)]
    return [Hypothesis("test 0", p_value, 3.0, 100), *others]


def sample() -> Sample:
    places = np.zeros((3, 40), dtype=PLACE)
    places["chance"] = 0.5
    places["distance"] = 0.6
    return Sample(Drawn((), [], np.zeros((3, 40), int).tolist()), places, np.empty(0))


@pytest.mark.parametrize(("p_value", "rejected"), [(0.9 * ALPHA, False), (0.9 * ALPHA / FAMILY, True)])
def test_a_p_value_is_judged_as_the_least_of_its_family(
    p_value: float, rejected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_text, "run_tests", lambda samples: family(p_value))
    single, joint = real_text.findings([sample()], ALPHA)
    found = {finding.name: finding for finding in [*single, *joint]}
    assert found["test 0"].passed is not rejected
    assert found["test 0"].figures["adjusted"] == pytest.approx(FAMILY * p_value)
    assert all(found[f"test {i}"].passed for i in range(1, FAMILY))


@pytest.mark.parametrize(
    ("chance", "equal_bits", "passed"), [(0.5, True, True), (0.5, False, True), (0.0, True, False), (0.0, False, None)]
)
def test_an_impossible_token_fails_where_both_passes_have_equal_bits(
    chance: float, equal_bits: bool, passed: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_text, "run_tests", lambda samples: family(0.9))
    seen = sample()
    seen.places["chance"][0, 0] = chance
    single, _ = real_text.findings([seen], ALPHA, equal_bits)
    assert {finding.name: finding.passed for finding in single}["no token outside the law"] is passed


@pytest.mark.parametrize(("p_value", "caught"), [(0.9 * ALPHA, False), (0.9 * ALPHA / FAMILY, True)])
def test_a_planted_bug_is_caught_by_the_same_family(p_value: float, caught: bool) -> None:
    assert judged(replace(BUGS[0], shared=True), [sample()], family(p_value), ALPHA).figures["caught"] is caught


def test_copies_of_one_text_are_no_more_places_than_one_has() -> None:
    """Noise that samples share makes them equal: what was missed in few places was too little, not a failure."""
    missed = judged(replace(BUGS[0], shared=True), [sample()], family(0.9), ALPHA)
    figures = missed.figures
    alone = smallest_visible(sample().places.shape[1], FAMILY, ALPHA, POWER)
    assert figures["seen_from_tv"] == pytest.approx(2 * alone)
    assert figures["seen_from_tv"] > 2 * figures["smallest_visible_tv"]  # of all places
    assert missed.passed is None
    assert "too small" in missed.says
