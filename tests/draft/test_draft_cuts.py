"""The tuned truncation of drafts: exact while it changes, a mutant that is not, what is tried, and where it settles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enumeration import law_of, total_variation
from known_laws import Scenario, text_law
from truedraw.draft import cuts as cuts_module
from truedraw.draft import gains, tempering
from truedraw.draft.cuts import NARROW, TARGETS, WIDE, others, recut
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.draft.ngram_lm import NgramLMDrafter
from truedraw.draft.tempering import RATIOS, OwnLaw, Tempering, Tuner, Variant, varied
from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import Proposal
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import FixedEdits, Opening
from truedraw.testing import run

PROMPT = (0, 1, 0)
ROUNDING, VISIBLE = 1e-12, 0.003
RULES = ["token", "block", "traversal", "recursive"]
TARGET = {(): [0.5, 0.5], (0,): [0.6, 0.4], (1,): [0.2, 0.8]}
SURER = {(): [0.5, 0.5], (0,): [0.85, 0.15], (1,): [0.2, 0.8]}
TOO_SURE = {(): [0.5, 0.5], (0,): [0.97, 0.03], (1,): [0.45, 0.55]}
FLAT = {(): [0.5, 0.5], (0,): [0.55, 0.45], (1,): [0.45, 0.55]}
CUTS = {
    WIDE: Scenario(WIDE, TARGET, TOO_SURE, {"temperature": 0.8, "top_p": 0.9}, draft_tokens=2, max_tokens=4),
    NARROW: Scenario(NARROW, SURER, FLAT, {"min_p": 0.01}, draft_tokens=2, max_tokens=4),
}
"""Behind token 0 top_p leaves the target two tokens and the draft one; where the draft is flat, its likeliest gains."""


@pytest.fixture
def eager(monkeypatch):
    """Every round is learnt from, and believed at once; and one token is narrow, where there are two."""
    for name in ("SOONEST", "SELDOM", "FEW"):
        monkeypatch.setattr(gains, name, 1)
    monkeypatch.setattr(cuts_module, "NARROW_TOKENS", 1)


@pytest.fixture
def cuts_alone(monkeypatch):
    monkeypatch.setattr(tempering, "RATIOS", (1.0,))


def model(case, kind=ModelDrafter, **more):
    return kind(TabularEngine(case.draft), tempering=Tempering(), **more)


def counts(case, **more):
    return NgramLMDrafter(len(case.target[()]), tempering=Tempering(), **more)


def law(case, make, rule, watch):
    """Of the loop's text; every branch has a drafter of its own, which starts with nothing known."""

    def text(walker):
        watch.append(make())
        return run(case, walker, find("verifiers", rule)(), watch[-1], prompt=PROMPT)[0]

    return law_of(text)


def chosen(drafters) -> set[str]:
    return {tuner.variant.cut for drafter in drafters for tuner in drafter._tempering._tuners.values()}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cut", CUTS)
def test_the_law_is_kept_while_the_truncation_changes(eager, cuts_alone, cut, rule) -> None:
    case, seen = CUTS[cut], []
    assert total_variation(law(case, lambda: model(case), rule, seen), text_law(case, PROMPT)) < ROUNDING
    assert cut in chosen(seen)


@pytest.mark.parametrize("make", [counts, model], ids=lambda each: each.__name__)
@pytest.mark.parametrize("cut", CUTS)
def test_and_the_temperature_with_it(eager, make, cut) -> None:
    case, seen = CUTS[cut], []
    found = law(case, lambda: make(case, knobs=Knobs(draft_siblings=2)), "traversal", seen)
    assert total_variation(found, text_law(case, PROMPT)) < ROUNDING


class Unreported(ModelDrafter):
    """The mutant: a token is drawn with the tuned truncation, and handed over as drawn with the target's own."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [
            Proposal(p.tokens, p.parents, tuple(own_law(state) for _ in p.laws))
            for p, state in zip(found, states, strict=True)
        ]


def own_law(state):
    """Of a draft of one token, by the table."""
    return state.law._own(np.log(FLAT[(state.text.tokens[-1],)]).astype(np.float32))


@pytest.mark.parametrize("rule", RULES)
def test_a_mutant_is_caught(eager, cuts_alone, rule) -> None:
    case, seen = replace(CUTS[NARROW], draft_tokens=1), []
    found = law(case, lambda: model(case, Unreported), rule, seen)
    assert total_variation(found, text_law(case, PROMPT)) > VISIBLE
    assert NARROW in chosen(seen)


# ------------------------------------------------------------------------------------------------------ what is tried


def target(vocab=9, masks=(), **params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0, 3), vocab, randomness=PhiloxRandomness(1), masks=masks))


@pytest.mark.parametrize(
    ("params", "tried"),
    [({}, ()), ({"temperature": 0.7}, ()), ({"xtc_probability": 0.5}, ()), ({"mirostat": 2}, ()),
     ({"top_k": 50}, (NARROW,)), ({"top_k": 10}, ()), ({"top_p": 0.9}, (WIDE, NARROW)),
     ({"top_k": 5, "min_p": 0.1}, (WIDE,)), ({"schedule": {"top_k": [[0, 50], [9, 5]]}}, ()),
     ({"schedule": {"top_p": [[0, 0.5], [9, 1.0]]}}, (WIDE, NARROW))],
    ids=str,
)  # fmt: skip
def test_which_cuts_are_tried(params, tried) -> None:
    assert others(target(**params)) == tried


TRUNCATED = {"top_n_sigma": 1.0, "top_k": 4, "top_p": 0.8, "min_p": 0.1, "typical_p": 0.9, "epsilon_cutoff": 0.02,
             "eta_cutoff": 0.02}  # fmt: skip
STAYING = {"temperature": 0.7, "logit_bias": {1: 2.0}, "repetition_penalty": 1.5, "presence_penalty": 0.5,
           "allowed_token_ids": [0, 1, 2, 3, 5, 7], "bad_words": [[3, 5]], "no_repeat_ngram": 3,
           "xtc_probability": 0.9, "xtc_threshold": 0.1}  # fmt: skip


@pytest.mark.parametrize("ratio", [1.0, 1.7])
@pytest.mark.parametrize("order", ["huggingface", "vllm", "llama.cpp"])
def test_only_truncations_change_and_all_else_stays(monkeypatch, order, ratio) -> None:
    """Against laws of those parameters, over a text; a further mask stands for a grammar's."""
    monkeypatch.setattr(cuts_module, "WIDE_TOKENS", 3)
    monkeypatch.setattr(cuts_module, "NARROW_TOKENS", 2)
    rows = np.random.default_rng(5).normal(size=(12, 9)).astype(np.float32)
    masks, given = (FixedEdits(lambda edits: edits.banning(np.array([2]))),), STAYING | {"sampler_order": order}
    warm = {**given, "temperature": 0.7 * ratio}
    laws = {
        cut: (varied(target(masks=masks, **given, **TRUNCATED), Variant(ratio, cut)), target(masks=masks, **warm, **by))
        for cut, by in {TARGETS: TRUNCATED, WIDE: {"top_k": 3}, NARROW: {**TRUNCATED, "top_k": 2}}.items()
    }
    for row, token in zip(rows, np.random.default_rng(6).choice([0, 1, 3, 5, 7], 12).tolist(), strict=True):
        for cut, (found, expected) in laws.items():
            q = found(row.copy())
            np.testing.assert_array_equal(q, expected(row.copy()))
            assert not q[[2, 4, 6, 8]].any()
            laws[cut] = found.after(token), expected.after(token)


def test_compiled_code_still_knows_the_law() -> None:
    own = target(temperature=0.8, top_p=0.9)
    assert recut(own, WIDE).transform == target(temperature=0.8, top_k=200).transform
    assert recut(own, NARROW).transform == target(temperature=0.8, top_k=10, top_p=0.9).transform


@pytest.mark.parametrize(
    ("knobs", "tunes"),
    [({}, True), ({"draft_temperature": "auto"}, True), ({"draft_siblings": 2}, True), ({"draft_top_k": 40}, False),
     ({"draft_top_k": 0}, False), ({"draft_top_p": 0.9}, False), ({"draft_min_p": 0.0}, False),
     ({"draft_entropy_k": 2.0}, False), ({"draft_temperature": 0.9}, False), ({"draft_temperature": "target"}, False),
     ({"draft_sample_method": "greedy"}, False)],
    ids=str,
)  # fmt: skip
def test_what_was_given_is_not_tuned(knobs, tunes) -> None:
    """Not even by what runs without it have taught."""
    known, p_law, own = Tempering(), target(top_p=0.9, min_p=0.02), Knobs(**knobs)
    free = OwnLaw.of(p_law, Knobs(), known)
    assert free._tuner is not None
    free._tuner.variant = Variant(1.0, WIDE)
    asked = OwnLaw.of(p_law, own, known)
    assert own.tunes_cuts is tunes
    assert (asked._tuner is free._tuner) is tunes
    row = np.linspace(0, 4, 9, dtype=np.float32)
    np.testing.assert_array_equal(asked.now()(row), (recut(p_law, WIDE) if tunes else own.law(p_law))(row))
    if asked._tuner is not None and not tunes:
        assert len(asked._tuner.variants()) == len(RATIOS)


# ------------------------------------------------------------------------------------------------ what it settles on


def saw(tuner: Tuner, rng, **gain: float) -> None:
    """A place where so much is gained: by a ratio of 1.7, and by cuts at 1 and at 1.7."""
    noise = 0.05 * rng.normal(size=(len(RATIOS) + 2))
    found = noise + [gain.get("hot", 0.0) if v.ratio == 1.7 else 0.0 for v in tuner.variants()]
    name = "wide_hot" if tuner.variant.ratio == 1.7 else "wide"
    tuner.saw(found + [gain.get(name, 0.0) if v.cut == WIDE else 0.0 for v in tuner.variants()])


def test_it_settles_on_a_cut_at_the_temperature_that_drafts_have() -> None:
    tuner, rng = Tuner((WIDE, NARROW)), np.random.default_rng(1)
    for _ in range(300):
        saw(tuner, rng, wide=0.1)
    assert tuner.variant == Variant(1.0, WIDE)
    while tuner.variant.ratio == 1.0:
        saw(tuner, rng, hot=0.1, wide=0.1)
    assert tuner.variant == Variant(1.7, TARGETS)  # what was seen at one temperature tells of no other
    for _ in range(900):
        saw(tuner, rng, hot=0.1, wide_hot=0.1)
    assert tuner.variant == Variant(1.7, WIDE)


def test_where_nothing_gains_it_stays() -> None:
    rng, left = np.random.default_rng(2), 0
    for _ in range(50):
        tuner = Tuner((WIDE, NARROW))
        for _ in range(100):
            saw(tuner, rng, wide=-0.02)
            left += tuner.variant.cut != TARGETS
    assert left < 0.03 * 50 * 100
