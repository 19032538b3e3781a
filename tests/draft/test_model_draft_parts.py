"""The law that the model drafter draws from: the target's, or one of its own, and where it stops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from draft.drafting import TABLE, Counting, law, propose
from enumeration import law_of, total_variation
from guided import END, finite, legal_after, masked_text_law
from known_laws import Scenario, lookup, normalised, random_table, transformed
from law_definitions import text_law
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter, EngineError
from truedraw.registry import find
from truedraw.testing.runs import PROMPT, run

ROUNDING = 1e-12


def q_after(text, knobs, target=None, table=TABLE) -> np.ndarray:
    """What the drafter says of its first token after a text."""
    drafter = ModelDrafter(TabularEngine(table), knobs=Knobs(**knobs))
    return propose(drafter, (1,), [text], target)[0].laws[0]


@pytest.mark.parametrize("text", [[0], [3, 5]])
@pytest.mark.parametrize(
    ("knobs", "params", "expected"),
    [
        ({}, {"temperature": 0.7, "top_k": 3}, {"temperature": 0.7, "top_k": 3}),
        ({"draft_top_k": 2}, {"temperature": 0.7, "top_k": 5}, {"temperature": 0.7, "top_k": 2}),
        ({"draft_temperature": 1.6}, {"temperature": 0.7, "top_p": 0.8}, {"temperature": 1.6, "top_p": 0.8}),
        ({"draft_temperature": 1.0}, {"temperature": 0.0}, {}),
        ({"draft_temperature": 0}, {"temperature": 1.2}, {"temperature": 0}),
        ({"draft_top_k": 0, "draft_top_p": 0.6}, {"top_k": 2, "min_p": 0.1}, {"top_p": 0.6, "min_p": 0.1}),
        ({"draft_min_p": 0.5}, {"schedule": {"min_p": [[0, 0.9]]}}, {"min_p": 0.5}),
        ({"draft_temperature": 0.5}, {"schedule": {"temperature": [[0, 2.0]]}}, {"temperature": 0.5}),
    ],
    ids=str,
)
def test_q_is_the_targets_law_with_numbers_of_its_own(text, knobs, params, expected) -> None:
    assert q_after(text, knobs, law(**params)) == pytest.approx(
        transformed(lookup(TABLE, text), **expected), abs=ROUNDING
    )


def test_what_acts_on_the_models_own_logits_stays_the_targets() -> None:
    q = q_after([0], {"draft_temperature": 0.5}, law(temperature=2.0, logit_bias={3: 1.0}, allowed_token_ids=[1, 3]))
    row = lookup(TABLE, [0])
    expected = normalised([row[1], row[3] * math.e])
    assert q[[1, 3]] == pytest.approx(transformed(expected, temperature=0.5), abs=ROUNDING)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.7, 50.0])
def test_truncation_by_entropy_is_its_definition(ratio: float) -> None:
    for text in ([0], [1], [2], [5]):
        row = lookup(TABLE, text)
        k = math.ceil(ratio * math.exp(-sum(w * math.log(w) for w in row if w)))
        assert q_after(text, {"draft_entropy_k": ratio}) == pytest.approx(transformed(row, top_k=k), abs=ROUNDING)
        assert q_after(text, {"draft_entropy_k": 1e308}) == pytest.approx(row, abs=ROUNDING)


def test_it_stops_by_the_draft_models_law_before_the_token_is_drawn() -> None:
    table = {(): [1 / 6] * 6, (0,): [0.0, 0.9, 0.1, 0, 0, 0], (1,): [0.9, 0.1, 0, 0, 0, 0]}
    for knobs in ({"draft_stop_below": 0.5}, {"draft_stop_entropy": 1.0}):
        drafter = ModelDrafter(TabularEngine(table), knobs=Knobs(**knobs, draft_temperature=0.0))
        lengths = [len(each) for each in propose(drafter, (4, 4), [[0], [5]])]
        assert lengths == [4, 0]
        often = [len(propose(ModelDrafter(TabularEngine(table), knobs=Knobs(**knobs)), (4,), [[0]], seed=seed)[0])
                 for seed in range(40)]  # fmt: skip
        assert set(often) == {1, 3, 4}  # token 2, after a 0, is followed by anything: the chain ends behind it


def test_siblings_are_drawn_without_replacement() -> None:
    drafter = ModelDrafter(TabularEngine(TABLE), knobs=Knobs(draft_siblings=3))
    for seed in range(30):
        proposal = propose(drafter, (5,), [[0]], seed=seed)[0]
        assert proposal.parents.tolist() == [-1, -1, -1, 0, 3]
        left = np.array(lookup(TABLE, [0]))
        for token, q in zip(proposal.tokens[:3], proposal.laws[:3], strict=True):
            assert q == pytest.approx(left / left.sum(), abs=ROUNDING)
            left[token] = 0.0


def test_a_draft_model_that_rules_out_what_is_allowed_drafts_nothing() -> None:
    table = {(): [0.5, 0.5, 0, 0, 0, 0]}
    assert propose(ModelDrafter(TabularEngine(table)), (3,), target=law(allowed_token_ids=[4, 5]))[0] is not None
    assert len(propose(ModelDrafter(TabularEngine(table)), (3,), target=law(allowed_token_ids=[4, 5]))[0]) == 0


def test_unusable_logits_are_an_error() -> None:
    engine = TabularEngine({(): [0.5] * 6})
    engine._logits[()] = np.full(6, np.nan)
    with pytest.raises(EngineError, match="unusable"):
        propose(ModelDrafter(engine))


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"draft_temperature": -1}, "draft_temperature: got -1"),
        ({"draft_temperature": math.nan}, "draft_temperature"),
        ({"draft_top_k": 1.5}, "draft_top_k"),
        ({"draft_top_k": True}, "draft_top_k"),
        ({"draft_top_p": 0}, "draft_top_p"),
        ({"draft_min_p": 2}, "draft_min_p"),
        ({"draft_entropy_k": 0}, "draft_entropy_k"),
        ({"draft_siblings": 0}, "draft_siblings"),
        ({"draft_stop_below": 1.1}, "draft_stop_below"),
        ({"draft_stop_entropy": -0.1}, "draft_stop_entropy"),
        ({"draft_stop_entropy": "1"}, "draft_stop_entropy"),
        ({"draft_sample_method": "beam"}, "probabilistic, greedy, gumbel"),
    ],
)
def test_knobs_that_cannot_be(knobs, told: str) -> None:
    with pytest.raises(BadParameter, match=told):
        Knobs(**knobs)


@pytest.mark.parametrize("name", ["draft_temperature", "draft_top_k", "draft_top_p", "draft_min_p", "draft_entropy_k"])
def test_a_law_beside_its_likeliest_token(name: str) -> None:
    engine = TabularEngine(TABLE)
    with pytest.raises(BadParameter, match=rf"^{name}: got 1, but .*greedy.*; leave one of the two out"):
        ModelDrafter(engine, knobs=Knobs(draft_sample_method="greedy", **{name: 1}))
    ModelDrafter(engine, knobs=Knobs(draft_sample_method="greedy", draft_siblings=2, **{name: 1}))
    ModelDrafter(engine, knobs=Knobs(draft_sample_method="greedy", draft_temperature="target"))


class OtherLaw:
    def __call__(self, logits):
        return np.full(6, 1 / 6)

    def after(self, token, p=None):
        return self


def test_a_law_that_cannot_be_changed_is_said_and_not_ignored() -> None:
    assert q_after([0], {}, OtherLaw()) == pytest.approx([1 / 6] * 6)
    with pytest.raises(BadParameter, match="draft_top_k"):
        q_after([0], {"draft_top_k": 2}, OtherLaw())


SCHEDULES = [
    {"schedule": {"temperature": [[0, 2.0], [2, 0.5]]}},
    {"schedule": {"top_p": [[0, 0.95], [3, 0.5]], "temperature": [[1, 1.0], [2, 0]]}},
    {"schedule": {"top_k": [[0, 3], [2, 1]]}, "presence_penalty": 0.8},
]


@pytest.mark.parametrize("knobs", [{}, {"draft_temperature": 0.7, "draft_siblings": 2}], ids=str)
@pytest.mark.parametrize("params", SCHEDULES, ids=str)
def test_annealing_over_the_text_keeps_the_law(params, knobs) -> None:
    tables = random_table(3, 1, 60), random_table(3, 1, 61)
    case = Scenario("annealing", *tables, params, draft_tokens=2, max_tokens=3)
    drafter = ModelDrafter(TabularEngine(case.draft), knobs=Knobs(**knobs))
    found = law_of(lambda walker: run(case, walker, find("verifiers", "traversal")(), drafter)[0])
    assert total_variation(found, text_law(case, PROMPT)) < ROUNDING


WORDS = [(0, 1, 2, 0, END), (0, 1, 2, 1, END), (2, 1, 0, END), (2, 1, 1, 2, END)]


@pytest.mark.parametrize("knobs", [{}, {"draft_siblings": 2}, {"draft_temperature": 2.0}, {"draft_top_k": 1}], ids=str)
@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_behind_forced_tokens_it_goes_on_and_keeps_the_law(rule: str, knobs) -> None:
    tables = random_table(4, 1, 302), random_table(4, 1, 303)
    case = Scenario("forced", *tables, draft_tokens=2, max_tokens=5, end_ids=(END,), masks=(finite(WORDS),))
    drafter = ModelDrafter(Counting(case.draft), knobs=Knobs(**knobs))
    found = law_of(lambda walker: run(case, walker, find("verifiers", rule)(), drafter)[0])
    assert total_variation(found, masked_text_law(case, PROMPT, lambda text: legal_after(case.masks[0], text, 4))) < (
        ROUNDING
    )
    assert any(rows > 0 for works in drafter._engine.passes for rows in works)
