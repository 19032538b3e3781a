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
from truedraw.draft.none import NoDrafter
from truedraw.engine.logits_cache import LogitsCache
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadFile, BadParameter, BadPrompt
from truedraw.generate import preparing
from truedraw.generate.speculation import Speculation, speculation
from truedraw.models.toy import TOY_TABLE
from truedraw.protocol import Proposal, Purpose, Scores
from truedraw.registry import BUILT_IN
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.stats.check import Finding, Settings, Subject, check, enumerated, quick, spread
from truedraw.stats.check.controls import gate, judged
from truedraw.stats.check.enumerated import SHORT, distance_of, enumeration
from truedraw.stats.check.html import to_html
from truedraw.stats.check.hypotheses import Test as Hypothesis
from truedraw.stats.check.planted import BUGS
from truedraw.stats.check.seeds import seed_equality
from truedraw.stats.check.self_draft import SelfDrafter
from truedraw.stats.check.settings import LARGE
from truedraw.testing import drafter_checks, random_table
from truedraw.testing.trees import SHAPES, TREES
from truedraw.verify import kseq
from truedraw.verify.draws import Draws
from truedraw.verify.proposals import dense
from truedraw.verify.recursive import remainder
from truedraw.verify.token import TokenVerifier
from truedraw.verify.topdown import descend

SMALL = quick(Settings(samples=12, seed=1))
PROMPTS = [[0, 1, 3, 5, 0, 1], [0, 2, 4, 5]]


def subject(spec=None, engine=None, **params) -> Subject:
    model = load("tabular")
    if engine is not None:
        model.engine = engine
    return Subject(model, model.params(**params), speculation(spec), PROMPTS)


known_enumeration = cache(enumeration)


@pytest.fixture
def few_trees(monkeypatch):
    """Section (a) of a test that is about something else."""
    enumerated = sys.modules["truedraw.stats.check.enumerated"]
    monkeypatch.setattr(enumerated, "SHAPES", SHAPES[:1])
    monkeypatch.setattr(enumerated, "TREES", TREES[:1])


@pytest.fixture(autouse=True)
def enumerated_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The same code has the same law in every test, but for the one that plants a rule."""
    if "a_rule_with_a_bug" not in request.node.name and "lies" not in request.node.name:
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
    *controls, together = by_key(granted)["f"].findings
    assert sum(finding.figures["caught"] for finding in controls) == together.figures["caught"] >= 3
    assert together.figures["smallest_visible_tv"] < LARGE


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
def test_a_check_that_could_see_nothing_is_not_passed() -> None:
    found = check(subject(), replace(SMALL, samples=2, length=2, alpha=1e-6))
    assert not found.passed
    assert found.verdict == found.to_dict()["verdict"] == "nothing was proven"
    weak = [finding for section in found.sections for finding in section.findings if finding.passed is False]
    assert [finding.name for finding in weak] == ["what can be seen", "what the controls prove"]
    assert all("nothing was proven" in each.says and "raise --samples, --max-tokens" in each.says for each in weak)
    assert "TV 1.35 on, and none is above 1" in weak[0].says


@pytest.mark.parametrize(
    ("controls", "passed", "told"),
    [
        ([(True, 0.3), (False, 0.01)], True, "1 of 2 planted bugs caught"),
        ([(False, 0.1), (False, 0.01)], False, "none of 2 planted bugs was caught"),
        ([(False, 0.0), (False, 0.0)], True, "their law leaves no choice"),
    ],
)
def test_the_controls_are_a_gate(controls, passed, told) -> None:
    found = gate([{"caught": caught, "tv": tv, "smallest_visible_tv": 0.2} for caught, tv in controls])
    assert (found.passed, found.too_little) == (passed, not passed)
    assert told in found.says


def test_controls_that_could_not_have_seen_a_large_bug_fail_though_one_was_caught() -> None:
    found = gate([{"caught": True, "tv": 0.5, "smallest_visible_tv": 0.3}])
    assert not found.passed
    assert "only from TV 0.30 on" in found.says


@pytest.mark.usefixtures("few_rules")
def test_a_check_can_be_repeated_exactly() -> None:
    """With drafts in every round; where a controller decides, it does so by the clock."""

    def numbers():
        certificate = check(subject({"method": "suffix", "adaptive": False}), replace(SMALL, samples=4))
        return [[finding.figures for finding in section.findings] for section in certificate.sections]

    assert numbers() == numbers()


def test_what_an_engine_does_not_have_is_said(granted) -> None:
    invariance, rounds, at_once, distance = by_key(granted)["e"].findings
    assert rounds.passed
    assert at_once.passed is None
    assert "skipped" in at_once.says
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
    figures = re.findall(r"<figure .*?</figure>", page, flags=re.DOTALL)
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


@pytest.mark.usefixtures("few_trees", "few_rules")
def test_a_rule_with_a_bug_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN["verifiers"], "planted", "generate.mutants:ArgmaxMatch")
    sections = by_key(check(subject({"rejection_sample_method": "planted"}), SMALL))
    assert not sections["a"].passed
    assert not sections["c"].passed
    assert sections["b"].passed


def only(monkeypatch: pytest.MonkeyPatch, rule: str) -> Finding:
    """What (a) says of one rule."""
    monkeypatch.setattr(enumerated, "exact_verifiers", lambda: [rule])
    (finding,) = enumeration(False)
    return finding


def test_a_rule_that_is_wrong_for_siblings_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """P stays as it was when a sibling is rejected; a chain has none."""
    monkeypatch.setitem(BUILT_IN["verifiers"], "planted", f"{__name__}:KeepsP")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    finding = only(monkeypatch, "planted")
    assert not finding.passed
    assert finding.figures["largest_tv"] > 0.1
    assert finding.figures["refused"] == []


class KeepsP:
    exact = True
    coupled = False
    trees = True

    def __call__(self, proposal, rows, randomness, position):
        return descend(without_update, proposal, rows, Draws(randomness, position))


def without_update(proposal, p, siblings, draws):
    left = p
    for node in siblings:
        token = int(proposal.tokens[node])
        if draws.keep(p[token], dense(proposal.laws[node], len(p), token)[token], node):
            return node, p
        left = remainder(p, proposal.laws[node], token)
    return None, left


def test_a_rule_that_is_slightly_wrong_for_independent_siblings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kseq.least_rho
    monkeypatch.setattr(kseq, "least_rho", lambda p, q, k: 1 + 0.9 * (right(p, q, k) - 1))
    finding = only(monkeypatch, "kseq")
    assert not finding.passed
    assert finding.figures["largest_tv"] > 1e-3
    assert finding.figures["refused"] == [
        "siblings without replacement", "a sample and a certain sibling", "caterpillar"
    ]  # fmt: skip


def test_a_rule_for_chains_says_which_trees_it_refused(granted) -> None:
    found = {finding.name: finding for finding in by_key(granted)["a"].findings}
    assert found["traversal"].figures["trees"] == len(SHAPES) * len(TREES)
    assert found["token"].figures["trees"] == len(TREES)
    assert f"{len(SHAPES) - 1} of {len(SHAPES)} shapes of trees refused" in found["token"].says


class NoisyRows(TabularEngine):
    """A row's logits depend on how many rows are computed with it."""

    def forward(self, works, fills=()):
        shift = sum(len(work.proposal) for work in works)
        noise = np.random.default_rng(shift).normal(size=self.vocab_size) * 0.3 * (shift > 0)
        return [Scores(scores.logits + noise) for scores in super().forward(works, fills)]


def test_an_engine_whose_rows_depend_on_their_company_breaks_seed_equality() -> None:
    sections = by_key(check(subject(engine=NoisyRows(TOY_TABLE)), SMALL))
    assert not sections["b"].passed
    finding = next(finding for finding in sections["b"].findings if finding.passed is False)
    assert finding.figures["logit_margin"] >= 0
    assert "differ" in finding.says


def one_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all samples of a request."""
    monkeypatch.setattr(preparing, "PhiloxRandomness", lambda seed, _index: PhiloxRandomness(seed, 0))


def another_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth off."""
    laws = preparing.laws
    monkeypatch.setattr(preparing, "laws", lambda *given: [law.tempered(0.9) for law in laws(*given)])


@pytest.mark.parametrize("fault", [one_noise, another_temperature])
def test_requests_that_draw_otherwise_than_the_check_does_are_found(fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    findings = seed_equality(subject(), SMALL)
    assert [finding.name for finding in findings if not finding.passed] == ["by the check itself"]


LAWS = [
    {"xtc_probability": 0.5, "temperature": 2.0},
    {"min_tokens": 60, "stop_token_ids": [3], "repetition_penalty": 1.4},
    {"schedule": {"temperature": [[0, 0.5], [20, 1.5]]}, "presence_penalty": 0.5},
    {"mirostat": 2, "n": 2, "best_of": 3},
]


@pytest.mark.parametrize("params", LAWS, ids=str)
def test_requests_of_every_law_draw_as_the_check_does(params) -> None:
    *_, finding = seed_equality(subject(**params), SMALL)
    assert finding.passed
    assert "4 texts of 192 tokens identical" in finding.says


def test_rows_that_are_kept_and_taken_for_others_break_equality_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    step = LogitsCache.step
    monkeypatch.setattr(LogitsCache, "step", lambda self, node, token: step(self, node, token - token % 2))
    findings = by_key(check(subject(), SMALL))["b"].findings
    assert [finding.name for finding in findings if not finding.passed] == ["in a batch"]


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


MODEL_DRAFTS = [
    {"draft_temperature": 0.6, "draft_top_k": 3, "rejection_sample_method": "block"},
    {"draft_siblings": 2, "draft_entropy_k": 1.5, "draft_stop_below": 0.3},
    {"draft_sample_method": "greedy"},
    {"rejection_sample_method": "coupled"},  # drafts are drawn with the noise of their tokens, which no event may see
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("knobs", MODEL_DRAFTS, ids=str)
@pytest.mark.usefixtures("few_trees")
def test_a_draft_model_and_its_knobs_are_covered(knobs) -> None:
    spec = {"model": "tabular", "num_speculative_tokens": 3, **knobs}
    found = check(subject(spec, temperature=1.3), SMALL)
    assert found.passed
    sections = by_key(found)
    assert (sections["c"].findings[0].figures["drafted"] > 500) is ("coupled" not in knobs.values())
    drafted = [finding.figures["accepted"] for finding in sections["b"].findings if "accepted" in finding.figures]
    assert len(drafted) == len(sections["b"].findings) - 1
    assert min(drafted) > 0
    laws = {finding.name: finding.figures["laws"] for finding in sections["a"].findings if "laws" in finding.figures}
    plain = {finding.name: finding.figures["laws"] for finding in known_enumeration(False)}
    assert all(laws[name] > plain[name] for name in laws)


@pytest.mark.usefixtures("few_trees", "few_rules")
def test_a_draft_model_that_lies_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tokens are drawn from the sharpened law and reported with the other one."""
    monkeypatch.setattr("truedraw.draft.growing.Draws.token", sharper)
    sections = by_key(check(subject({"model": "tabular", "num_speculative_tokens": 2}), replace(SMALL, samples=6)))
    assert not sections["a"].passed
    assert not sections["c"].passed


def sharper(self, q, depth, node):
    return self._randomness.choose(q**3, Purpose.DRAFT, self._position, node), q


def test_a_drafter_that_is_given_up_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN["drafters"], "wild", f"{__name__}:Wild")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    found = by_key(check(subject("wild"), SMALL))["c"]
    assert not found.passed
    (finding,) = [finding for finding in found.findings if finding.passed is False]
    assert finding.name == "the drafter"
    assert "draft node 0 is token 99" in finding.says


class Wild(NoDrafter):
    def propose(self, states, budgets, randomness):
        return [Proposal.chain([99]) for _ in states]


def test_drafts_that_no_rule_can_verify_have_no_law() -> None:
    assert distance_of(TokenVerifier(), Wild, SHORT[0]) == 1.0


def test_plain_sampling_can_be_checked_too() -> None:
    found = check(subject({"method": "none"}), SMALL)
    assert found.passed, [each for section in found.sections for each in section.findings if each.passed is False]
    assert [finding.name for finding in by_key(found)["b"].findings] == [
        "0 draft tokens",
        "in a batch",
        "by the check itself",
    ]


REGEX = r"[a-z ]{12,300}"  # three words at least
GRAMMARS = [
    (None, {"regex": REGEX}),
    (
        {"model": "tabular", "draft_temperature": 0.7},
        {"grammar": f"start: /{REGEX}/", "temperature": 1.4, "top_k": 3},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "params"), GRAMMARS, ids=["regex, lookup", "grammar, draft model"])
@pytest.mark.usefixtures("few_trees")
def test_a_grammar_is_part_of_the_law_that_is_checked(spec, params) -> None:
    found = check(subject(spec, **params), SMALL)
    assert found.passed
    finding = next(each for each in by_key(found)["c"].findings if each.name == "inside the grammar")
    assert 100 < finding.figures["inside"] < finding.figures["tokens"]
    assert finding.figures["ended"] > 0


def test_a_round_that_forgets_the_grammar_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bonus row of a fully accepted draft is drawn without the mask."""
    monkeypatch.setitem(BUILT_IN["verifiers"], "planted", f"{__name__}:FreeBonus")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    found = by_key(check(subject({"rejection_sample_method": "planted", "prompt_lookup_min": 1}, regex=REGEX), SMALL))
    assert not found["c"].passed


class FreeBonus(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        verdict = super().__call__(proposal, rows, randomness, position)
        if verdict.rejected or not verdict.num_accepted:
            return verdict
        free = np.full(len(rows[0]), 1.0)
        last = randomness.choose(free, Purpose.RESIDUAL, position, 1000)
        return replace(verdict, tokens=(*verdict.tokens[:-1], last))


def test_a_draft_model_that_cannot_be_is_said_before_the_work() -> None:
    with pytest.raises(BadFile, match="no/such"):
        check(subject({"model": "no/such.gguf"}), SMALL)


def test_a_context_too_short_for_the_texts() -> None:
    with pytest.raises(BadPrompt, match="context of 20"):
        check(subject(engine=TabularEngine(TOY_TABLE, context_length=20)), SMALL)


def test_the_law_that_is_checked_knows_end_tokens_that_end_nothing() -> None:
    end = 5
    for least, possible in ((0, True), (2, False)):
        law = subject(min_tokens=least, ignore_eos=True).law([0, 1, 3], PhiloxRandomness(0, 0))
        assert bool(law(np.zeros(6))[end] > 0) is possible


def test_a_lossy_rule_has_no_certificate() -> None:
    lossy = Speculation("ngram", rejection_sample_method="typical", allow_lossy=True)
    with pytest.raises(BadParameter, match="typical does not keep the model's distribution, so there is nothing to"):
        check(replace(subject(), speculation=lossy), SMALL)
