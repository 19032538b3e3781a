"""(a) The code as installed, run on every branch of its randomness: equal laws, not similar samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from truedraw.protocol import Drafter, Verifier
from truedraw.registry import find, names
from truedraw.stats.check.records import Finding
from truedraw.testing.enumeration import KeyReused, law_of, total_variation
from truedraw.testing.runs import run
from truedraw.testing.scenarios import SCENARIOS, Scenario, TableDrafter, text_law

ROUNDING = 1e-12
PROMPT = (0, 1, 0, 0, 1)  # holds what prompt lookup finds
SHORT = [
    replace(scenario, draft_tokens=min(scenario.draft_tokens, 2), max_tokens=min(scenario.max_tokens, 3))
    for scenario in SCENARIOS
]
SMALL = replace(next(s for s in SHORT if s.params.get("temperature", 0) > 1), end_ids=())
"""Three tokens at a high temperature: where bugs show."""


def enumeration(full: bool) -> list[Finding]:
    """The largest total variation of every exact verifier, over all scenarios and kinds of drafts.

    A coupled rule gets the short ones: its draft and its target draw apart here, which squares the branches.
    """
    return [
        _judged(name, SCENARIOS if full and not find("verifiers", name).coupled else SHORT)
        for name in exact_verifiers()
    ]


def exact_verifiers() -> list[str]:
    """Registered names of rules that say they are exact."""
    return [name for name in names("verifiers") if find("verifiers", name).exact]


def distance_of(verifier: Verifier, drafter: Drafter | None, scenario: Scenario) -> float:
    """Total variation between the law of the loop's text and the target's; 1 where two draws share a name."""
    try:
        law = law_of(lambda walker: run(scenario, walker, verifier, drafter, prompt=PROMPT)[0])
    except KeyReused:
        return 1.0
    return total_variation(law, text_law(scenario, PROMPT))


def _judged(name: str, scenarios: Sequence[Scenario]) -> Finding:
    rule = find("verifiers", name)()
    found = {
        f"{scenario}, {kind}": distance_of(rule, drafter, scenario)
        for scenario in scenarios
        for kind, drafter in drafters(scenario)
    }
    worst = max(found, key=lambda case: found[case])
    says = f"largest total variation {found[worst]:.1e} over {len(found)} laws"
    figures = {"largest_tv": found[worst], "laws": len(found), "worst": worst}
    return Finding(name, found[worst] < ROUNDING, says, figures)


def drafters(scenario: Scenario) -> Iterator[tuple[str, Drafter]]:
    """A draft that is sampled from a table, and every registered drafter that needs nothing but a text."""
    yield "sampled draft", TableDrafter(scenario.draft)
    for name in names("drafters"):
        try:
            yield name, find("drafters", name)()
        except TypeError:  # it needs a model of its own: the sampled draft stands for it
            continue
