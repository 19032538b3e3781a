"""The drafter that is a model: its law enumerated over tables, one text a seed, texts together and alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_laws import SCENARIOS, Scenario, random_table
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.registry import find
from truedraw.testing import drafter_checks
from truedraw.testing.checks import require_exact

PROMPT = (0, 1, 0)
SHORT = [
    replace(scenario, draft_tokens=min(scenario.draft_tokens, 3), max_tokens=min(scenario.max_tokens, 3))
    for scenario in SCENARIOS
]
KNOBS = {
    "the target's law": {},
    "own temperature": {"draft_temperature": 0.6},
    "greedy by temperature": {"draft_temperature": 0},
    "own top_k": {"draft_top_k": 2},
    "own cuts": {"draft_top_p": 0.8, "draft_min_p": 0.2, "draft_temperature": 1.4},
    "nothing cut": {"draft_top_k": 0, "draft_top_p": 1.0, "draft_min_p": 0.0, "draft_temperature": 1.0},
    "cut by entropy": {"draft_entropy_k": 0.8},
    "stops where unsure": {"draft_stop_below": 0.55},
    "stops where flat": {"draft_stop_entropy": 0.9},
    "greedy": {"draft_sample_method": "greedy"},
}
SIBLINGS = {
    "pair": {"draft_siblings": 2},
    "more than there are": {"draft_siblings": 9, "draft_top_k": 2},
    "greedy pair": {"draft_siblings": 2, "draft_sample_method": "greedy"},
    "tempered pair": {"draft_siblings": 2, "draft_temperature": 1.5, "draft_stop_below": 0.4},
}
TAKES_TREES = ("traversal", "recursive")


def drafter(table, knobs=None, **more) -> ModelDrafter:
    return ModelDrafter(TabularEngine(table), knobs=Knobs(**(knobs or {})), **more)


def exact(scenario: Scenario, rule: str, knobs) -> None:
    require_exact(scenario, PROMPT, find("verifiers", rule)(), drafter(scenario.draft, knobs))


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath"])
@pytest.mark.parametrize("scenario", SHORT, ids=str)
def test_chains_keep_the_law(scenario: Scenario, rule: str) -> None:
    exact(scenario, rule, {})


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive"])
@pytest.mark.parametrize("name", KNOBS)
def test_every_law_of_its_own_keeps_the_law(name: str, rule: str) -> None:
    for scenario in SHORT:
        exact(replace(scenario, draft_tokens=min(2, scenario.draft_tokens)), rule, KNOBS[name])


@pytest.mark.parametrize("rule", TAKES_TREES)
@pytest.mark.parametrize("name", SIBLINGS)
def test_siblings_keep_the_law(name: str, rule: str) -> None:
    for scenario in SHORT:
        exact(scenario, rule, SIBLINGS[name])


@pytest.mark.parametrize("knobs", [{}, {"draft_siblings": 2}, KNOBS["own cuts"], KNOBS["greedy"]], ids=str)
@pytest.mark.parametrize("vocab", [3, 50])
def test_it_keeps_the_contract_of_a_drafter(vocab: int, knobs) -> None:
    for check in drafter_checks(lambda: drafter(random_table(vocab, 1, 9), knobs), vocab):
        check()


def test_coupled_it_keeps_the_contract_of_a_drafter() -> None:
    for check in drafter_checks(lambda: drafter(random_table(50, 1, 9), coupled=True), 50):
        check()
