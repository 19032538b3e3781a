"""(a) The code as installed, run on every branch of its randomness: equal laws, not similar samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from inspect import signature

from truedraw.draft.knobs import GUMBEL, Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadProposal
from truedraw.generate.fence import says_exact
from truedraw.generate.keys import usable_methods
from truedraw.generate.speculation import CHAINS
from truedraw.protocol import Drafter, Verifier
from truedraw.registry import find, usable_names
from truedraw.stats.check.records import Finding
from truedraw.testing.checks import completed_round
from truedraw.testing.enumeration import KeyReused, law_of, total_variation
from truedraw.testing.runs import run
from truedraw.testing.scenarios import SCENARIOS, Scenario, TableDrafter, text_law
from truedraw.testing.trees import SHAPES, TREES, Shape, TreeDrafter

Make = Callable[[], Drafter]

ROUNDING = 1e-12
PROMPT = (0, 1, 0, 0, 1)  # holds what prompt lookup finds
SHORT = [
    replace(scenario, draft_tokens=min(scenario.draft_tokens, 2), max_tokens=min(scenario.max_tokens, 3))
    for scenario in SCENARIOS
]
SMALL = replace(next(s for s in SHORT if s.params.get("temperature", 0) > 1), end_ids=())
"""Three tokens at a high temperature: where bugs show."""


def enumeration(full: bool, knobs: Knobs | None = None) -> list[Finding]:
    """The largest total variation of every exact verifier, over all scenarios and kinds of drafts, trees included.

    A shape of trees that a rule refuses is left out of its laws, and counted. `knobs`: how a draft model drafts, which
    is enumerated too. A coupled rule gets the short scenarios: its draft and its target draw apart here, which squares
    the branches.
    """
    return [
        _judged(name, SCENARIOS if full and not find("verifiers", name).coupled else SHORT, knobs)
        for name in exact_verifiers()
    ]


def exact_verifiers() -> list[str]:
    """Registered names of rules that say they are exact."""
    return [name for name in usable_names("verifiers") if says_exact(find("verifiers", name))]


def distance_of(verifier: Verifier, make: Make, scenario: Scenario) -> float:
    """Total variation between the law of the loop's text and the target's.

    Every branch gets a drafter of its own from `make`: some remember the texts they saw. 1 where two draws share a
    name, or a draft is one that no rule can verify.
    """
    try:
        law = law_of(lambda walker: run(scenario, walker, verifier, make(), prompt=PROMPT)[0])
    except (KeyReused, BadProposal):
        return 1.0
    return total_variation(law, text_law(scenario, PROMPT))


def _judged(name: str, scenarios: Sequence[Scenario], knobs: Knobs | None) -> Finding:
    rule = find("verifiers", name)()
    trees, refused = _over_trees(rule)
    found = trees | {
        f"{scenario}, {kind}": distance_of(rule, make, scenario)
        for scenario in scenarios
        for kind, make in (*drafters(scenario), *_model(scenario, knobs, name))
    }
    worst = max(found, key=lambda case: found[case])
    says = f"largest total variation {found[worst]:.1e} over {len(found)} laws, {len(trees)} of them of drawn trees"
    if refused:
        says += f"; {len(refused)} of {len(SHAPES)} shapes of trees refused"
    figures = {"largest_tv": found[worst], "laws": len(found), "trees": len(trees), "worst": worst, "refused": refused}
    return Finding(name, found[worst] < ROUNDING, says, figures)


def _over_trees(rule: Verifier) -> tuple[dict[str, float], list[str]]:
    """(total variation of every law over trees of sampled drafts, the shapes that the rule does not take)."""
    found: dict[str, float] = {}
    refused = []
    for shape in SHAPES:
        try:
            found |= {f"{scenario}, {shape}": round_distance(rule, shape, scenario) for scenario in TREES}
        except ValueError:  # the laws of these drafts are what they were drawn from: it is the shape
            refused.append(str(shape))
    return found, refused


def round_distance(verifier: Verifier, shape: Shape, scenario: Scenario) -> float:
    """The same for one round over a drawn tree, followed by fresh samples of the target; such rounds compose.

    Raises ValueError where the rule does not take such trees.
    """
    try:
        return total_variation(*completed_round(scenario, verifier, TreeDrafter(scenario.draft, shape)))
    except KeyReused:
        return 1.0


def drafters(scenario: Scenario) -> Iterator[tuple[str, Make]]:
    """A draft that is sampled from a table, and every registered drafter that needs nothing but a text."""
    yield "sampled draft", lambda: TableDrafter(scenario.draft)
    for name in usable_methods():
        kind = find("drafters", name)
        if all(each.default is not each.empty for each in signature(kind).parameters.values()):
            yield name, kind  # any other needs a model of its own: the sampled draft stands for it


def _model(scenario: Scenario, knobs: Knobs | None, rule: str) -> Iterator[tuple[str, Make]]:
    """A draft model with these knobs. Its noise is its own here: what it shares is seen in (b)."""
    if knobs is None:
        return
    if rule in CHAINS:
        knobs = replace(knobs, draft_siblings=None)
    if knobs.draft_sample_method == GUMBEL:
        knobs = replace(knobs, draft_sample_method=None)
    yield "model draft", lambda: ModelDrafter(TabularEngine(scenario.draft), knobs=knobs)
