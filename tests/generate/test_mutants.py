"""The oracle has teeth: every known bug changes an enumerated law, or is caught drawing the same number twice."""

from __future__ import annotations

import pytest

from enumeration import KeyReused, law_of, total_variation
from generate.mutants import MUTANTS, Mutant, Skewed
from generate.runs import PROMPT, run
from known_laws import Scenario, random_table, text_law

VISIBLE = 1e-4  # of total variation; the oracle itself is exact to 1e-12
TRIALS = [  # the quickest first
    Scenario("long memory", random_table(2, 3, 44), random_table(2, 1, 45), draft_tokens=2),
    Scenario("cold", random_table(3, 1, 42), random_table(3, 1, 43), {"temperature": 0.5}),
    Scenario("hot, end of text", random_table(3, 1, 40), random_table(3, 1, 41), {"temperature": 1.6}, end_ids=(1,)),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_every_known_bug_is_caught(mutant: Mutant) -> None:
    assert any(caught(mutant, scenario) for scenario in TRIALS)


@pytest.mark.parametrize("scenario", TRIALS, ids=str)
def test_the_harness_of_the_mutants_is_exact_without_a_bug(scenario: Scenario) -> None:
    law = law_of(lambda walker: run(scenario, walker, Skewed())[0])
    assert total_variation(law, text_law(scenario, PROMPT)) < 1e-12


def caught(mutant: Mutant, scenario: Scenario) -> bool:
    try:
        law = law_of(lambda walker: mutant.runner(scenario, walker))
    except KeyReused:
        return True
    prompt = (0, 1, 0) if mutant.name.endswith("UnderLookup") else PROMPT
    return total_variation(law, text_law(scenario, prompt)) > VISIBLE
