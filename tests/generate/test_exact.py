"""The law of the production loop, verifiers and samplers, enumerated: equal to the target's, no tolerance but 1e-12."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from enumeration import law_of, total_variation
from generate.runs import PROMPT, run
from known_laws import SCENARIOS, Scenario, random_table, text_law
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.none import NoDrafter
from truedraw.registry import find, names
from truedraw.verify.token import TokenVerifier

ROUNDING = 1e-12
EXACT = [name for name in names("verifiers") if find("verifiers", name).exact]
SMALL = [scenario for scenario in SCENARIOS if len(scenario.target[()]) ** scenario.draft_tokens < 20]
LARGE = [scenario for scenario in SCENARIOS if scenario not in SMALL]


def exact(scenario: Scenario, verifier: str) -> bool:
    rule = find("verifiers", verifier)()
    law = law_of(lambda walker: run(scenario, walker, rule)[0])
    return total_variation(law, text_law(scenario, PROMPT)) < ROUNDING


@pytest.mark.parametrize("verifier", [name for name in EXACT if name != "coupled"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_law_with_a_draft_that_samples_is_the_targets(scenario: Scenario, verifier: str) -> None:
    assert exact(scenario, verifier)


@pytest.mark.parametrize(
    "scenario", [*SMALL, *(replace(each, draft_tokens=2, max_tokens=3) for each in LARGE)], ids=str
)
def test_the_law_of_the_coupled_rule_is_the_targets(scenario: Scenario) -> None:
    """The target draws at every draft, kept or not: ten times the branches of the other rules."""
    assert exact(scenario, "coupled")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", LARGE, ids=str)
def test_the_law_of_the_coupled_rule_is_the_targets_over_long_chains(scenario: Scenario) -> None:
    assert exact(scenario, "coupled")


@pytest.mark.parametrize("verifier", EXACT)
@pytest.mark.parametrize("drafter", [NgramDrafter(1, 2), NoDrafter()], ids=["ngram", "none"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_law_with_certain_drafts_and_without_any_is_the_targets(scenario, drafter, verifier) -> None:
    rule = find("verifiers", verifier)()
    prompt = (0, 1, 0, 0, 1)
    law = law_of(lambda walker: run(scenario, walker, rule, drafter, prompt=prompt)[0])
    assert total_variation(law, text_law(scenario, prompt)) < ROUNDING


@pytest.mark.parametrize("verifier", EXACT)
def test_samples_of_one_prompt_are_independent(verifier: str) -> None:
    scenario = Scenario("pair", random_table(2, 1, 30), random_table(2, 1, 31), draft_tokens=2, max_tokens=2)
    rule = find("verifiers", verifier)()
    joint = law_of(lambda walker: run(scenario, walker, rule, n=2))
    one = text_law(scenario, PROMPT)
    independent = {(a, b): one[a] * one[b] for a, b in itertools.product(one, repeat=2)}
    assert total_variation(joint, independent) < ROUNDING


def test_token_wise_acceptance_is_one_minus_the_total_variation() -> None:
    """Leviathan et al., theorem 3.5: P(accept) = sum(min(p, q))."""
    for scenario in SCENARIOS:
        p, q = (
            text_law(_single(scenario.target, scenario), PROMPT),
            text_law(_single(scenario.draft, scenario), PROMPT),
        )
        kept = law_of(lambda walker, s=scenario: _first_draft_kept(s, walker))
        assert kept.get(True, 0.0) == pytest.approx(1 - total_variation(p, q), abs=ROUNDING)


def _single(table, scenario: Scenario) -> Scenario:
    return Scenario("one token", table, table, scenario.params, max_tokens=1)


def _first_draft_kept(scenario: Scenario, walker) -> bool:
    verdicts = []

    class Watching(TokenVerifier):
        def __call__(self, *args):
            verdicts.append(super().__call__(*args))
            return verdicts[-1]

    run(Scenario("", scenario.target, scenario.draft, scenario.params, 1, 2), walker, Watching())
    return verdicts[0].num_accepted > 0
