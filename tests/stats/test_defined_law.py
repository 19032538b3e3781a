"""A check sees a law that is another than the user's parameters mean, whoever takes p from the code."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from truedraw import load
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.speculation import speculation
from truedraw.sampling.law import SamplingLaw
from truedraw.stats.check import Finding, Settings, Subject
from truedraw.stats.check.defined import CLOSE, NAME, coins, defined_law, distances, given_of
from truedraw.testing import random_table
from truedraw.testing.definitions import Definition

SETTINGS = Settings(equality_prompts=2, seed=3)
PROMPTS = [[0, 1, 3, 5, 0, 1], [0, 2, 4, 5]]
KINDS = (
    {"temperature": 0.7}, {"temperature": 0}, {"top_k": 3}, {"top_p": 0.8}, {"min_p": 0.1}, {"typical_p": 0.8},
    {"epsilon_cutoff": 0.05}, {"eta_cutoff": 0.1}, {"top_n_sigma": 1.0}, {"xtc_probability": 0.5, "xtc_threshold": 0.1},
    {"mirostat": 2, "mirostat_tau": 1.5}, {"dynatemp_range": 0.5}, {"repetition_penalty": 1.5},
    {"presence_penalty": 1.0}, {"frequency_penalty": 0.5}, {"no_repeat_ngram": 2}, {"logit_bias": {2: 1.0}},
    {"bad_words": [[3, 5], [1]]}, {"allowed_token_ids": [0, 1, 2, 5]}, {"min_tokens": 8},
    {"schedule": {"temperature": [[0, 1.5], [5, 0.5]]}}, {"sampler_order": "llama.cpp", "top_p": 0.7, "temperature": 2},
)  # fmt: skip


def subject(**params) -> Subject:
    model = load("tabular")
    model.engine = TabularEngine(random_table(model.engine.vocab_size, 1, 9))
    return Subject(model, model.params(**params), speculation(None), PROMPTS)


def made_of(monkeypatch, change) -> None:
    """The law is that of other parameters than were asked for."""
    monkeypatch.setattr("truedraw.stats.check.subject.SamplingLaw", lambda params, at: SamplingLaw(change(params), at))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_parameter_means_what_it_is_defined_to(kind) -> None:
    found = defined_law(subject(**kind), SETTINGS)
    assert found.passed, found.says
    assert found.figures["places"] == 16
    assert found.figures["total_variation"] <= CLOSE


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        ({"presence_penalty": 1.0}, lambda params: replace(params, presence_penalty=params.presence_penalty / 2)),
        ({"temperature": 0.7}, lambda params: replace(params, temperature=0.63)),
        ({"top_p": 0.6}, lambda params: replace(params, top_p=1.0)),
        ({"mirostat": 2, "mirostat_tau": 1.5}, lambda params: replace(params, mirostat_eta=0.5)),
        ({"xtc_probability": 1.0}, lambda params: replace(params, xtc_threshold=0.4)),
        ({"bad_words": [[0, 1]]}, lambda params: replace(params, bad_words=((0, 2),))),
        ({}, lambda params: replace(params, temperature=1.001)),
    ],
)
def test_a_law_that_is_another_is_seen(asked, change, monkeypatch) -> None:
    made_of(monkeypatch, change)
    found = defined_law(subject(**asked), SETTINGS)
    assert found.passed is False
    assert "another than the parameters mean" in found.says
    assert found.figures["total_variation"] > CLOSE


def test_one_bad_place_is_enough(monkeypatch) -> None:
    """The law is looked at behind the text's own tokens, not where it begins alone."""
    made_of(monkeypatch, lambda params: replace(params, schedule={"temperature": [[6, 1.0], [7, 1.2]]}))
    gaps = np.array(list(distances(subject(), PROMPTS[0], 3)))
    assert (gaps[:7] <= CLOSE).all()
    assert gaps[7] > CLOSE
    assert defined_law(subject(), SETTINGS).passed is False


@pytest.mark.parametrize(
    ("kind", "what"),
    [({"bad_words": [" cat"]}, "bad words that are given as text"), ({"regex": "[a-z ]+"}, "grammars")],
)
def test_what_takes_a_tokenizer_is_said_to_be_left_out(kind, what) -> None:
    found = defined_law(subject(**kind), SETTINGS)
    assert found.passed is None
    assert what in found.says


def test_only_what_was_changed_is_given_and_a_coin_only_where_there_is_one() -> None:
    model = load("tabular")
    assert given_of(model.params()) == {}
    assert given_of(model.params(top_k=2, xtc_probability=0.1)) == {"top_k": 2, "xtc_probability": 0.1}
    expected = {0.0: (False,), 0.1: (False, True), 1.0: (True,)}
    assert {chance: coins(model.params(xtc_probability=chance)) for chance in expected} == expected


def test_a_check_holds_it(monkeypatch) -> None:
    held = sys.modules["truedraw.stats.check"]
    monkeypatch.setattr(held, "enumeration", lambda *_: [])
    monkeypatch.setattr(held, "seed_equality", stop)
    seen: list[Finding] = []
    section = held._Run.section
    monkeypatch.setattr(held._Run, "section", lambda *given: seen.extend((found := section(*given)).findings) or found)
    made_of(monkeypatch, lambda params: replace(params, temperature=0.9))
    with pytest.raises(Stopped):
        held.check(subject(), SETTINGS)
    assert [(finding.name, finding.passed) for finding in seen] == [(NAME, False)]


class Stopped(Exception):
    """Behind section (a)."""


def stop(*_: object) -> None:
    raise Stopped


@pytest.mark.parametrize("mass", [1e-9, 0.25, 0.5, 0.6, 0.75, 0.9])
@pytest.mark.parametrize(
    "weights", [(0, 0, 1, 3, 1, 1), (2, 2, 3, 2, 0, 3), (0, 2, 3, 2, 3, 2), (1, 1, 1, 2, 2, 1)], ids=str
)
def test_rounding_may_decide_between_both_sides_of_the_entropy(weights, mass) -> None:
    """Two values of half the mass each are equally far from average surprise."""
    ours = subject(typical_p=mass)
    ours.model.engine = TabularEngine({(): np.array(weights) / sum(weights)})
    found = defined_law(ours, SETTINGS)
    assert found.passed, found.says


def test_penalties_that_cancel_leave_a_tie_a_tie() -> None:
    law = {"presence_penalty": -2.0, "frequency_penalty": 0.5}
    z = [math.log(w / 10) for w in range(1, 10)]
    assert Definition(law, output=[*range(9)] * 4).penalised([*z]) == z


@pytest.mark.parametrize("kind", [{}, {"top_n_sigma": 1.0}, {"top_p": 0.9}], ids=str)
@pytest.mark.parametrize(
    "far", [{"temperature": 1e-160}, {"logit_bias": {2: 1e200}}, {"logit_bias": {2: -1e200}}], ids=str
)
def test_logits_whose_squares_are_infinite_have_a_law(far, kind) -> None:
    found = defined_law(subject(**far, **kind), SETTINGS)
    assert found.passed, found.says


def test_texts_end_with_the_context() -> None:
    """check_room asks for as much as the user's own texts take, which may be less than is looked at here."""
    ours = subject()
    ours.model.engine = TabularEngine(random_table(ours.model.engine.vocab_size, 1, 9), context_length=9)
    ours.check_room(3)
    assert defined_law(ours, SETTINGS).figures["places"] == 3 + 5


class Listed(list):
    """Ids that nobody may search one by one."""

    def __contains__(self, _: object) -> bool:
        raise AssertionError("a search for every token takes the square of their number")


def test_a_long_list_of_allowed_tokens_is_read_once() -> None:
    p = Definition({"allowed_token_ids": Listed([0, 2, 3])}).p([0.0] * 5)
    assert p == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3, 0])


class Wavering(TabularEngine):
    """The likeliest token is another in a pass of many rows: numerics that do not promise equal bits."""

    numerics = "runtime"

    def forward(self, work, fill=()):
        scores = super().forward(work, fill)
        return [replace(each, logits=-each.logits) if len(each.logits) > 1 else each for each in scores]


@pytest.mark.parametrize("kind", [{"temperature": 0}, {"top_k": 2}, {"mirostat": 2, "mirostat_tau": 0.1}], ids=str)
def test_a_token_that_another_pass_excludes_is_no_error(kind) -> None:
    """Logits and p are of one pass, so the law is the law there, too."""
    ours = subject(**kind)
    ours.model.engine = Wavering(random_table(ours.model.engine.vocab_size, 1, 9))
    found = defined_law(ours, SETTINGS)
    assert found.passed, found.says
