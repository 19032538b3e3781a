"""(a) The code as installed, run on every branch of its randomness: equal laws, not similar samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from inspect import signature

from truedraw.draft.knobs import GUMBEL, Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadInput, BadParameter, BadProposal, TruedrawError, place_of
from truedraw.generate.calls import NOT_RETURNED
from truedraw.generate.fence import rule as rule_called
from truedraw.generate.fence import says_exact
from truedraw.generate.keys import usable_methods
from truedraw.generate.making import takes_trees
from truedraw.generate.speculation import CHAINS, Speculation
from truedraw.handlers import fault_of
from truedraw.protocol import Verifier
from truedraw.registry import BUILT_IN, find, usable_names
from truedraw.stats.check.beside import Make, RuleBeside, drafter_beside
from truedraw.stats.check.records import Finding
from truedraw.testing.checks import completed_round
from truedraw.testing.enumeration import KeyReused, law_of, total_variation
from truedraw.testing.runs import run
from truedraw.testing.scenarios import SCENARIOS, Scenario, TableDrafter, text_law
from truedraw.testing.trees import SHAPES, TREES, Shape, TreeDrafter

ROUNDING = 1e-12
STUCK = f"raised {TimeoutError.__name__}: {NOT_RETURNED}"  # in what is said of a plug-in
SAMPLED, BY_MODEL = "sampled draft", "model draft"  # what drafts beside registered drafters
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
    the branches. A plug-in that fails has a finding that says so, and the others go on.
    """
    faults: dict[str, str] = {}
    found = [_finding(name, full, knobs, faults) for name in exact_verifiers()]
    drafting = [Finding(f"drafter {name}", False, f"the plug-in {name!r} {fault}") for name, fault in faults.items()]
    return [*found, *drafting]


def refuse_stuck(speculation: Speculation, found: Sequence[Finding]) -> None:
    """Raises BadParameter where the rule or the drafter that is to be checked never returned: it would nowhere else."""
    stuck = {each.name: each.says for each in found if STUCK in each.says}
    named = {"rejection_sample_method": speculation.rejection_sample_method, "method": f"drafter {speculation.method}"}
    for parameter, name in named.items():
        if name in stuck:
            raise BadParameter(parameter, f"{stuck[name]}; nothing further was looked at")


def exact_verifiers() -> list[str]:
    """Registered names of rules that say they are exact."""
    return [name for name in usable_names("verifiers") if says_exact(find("verifiers", name))]


def distance_of(verifier: Verifier, make: Make, scenario: Scenario) -> float:
    """Total variation between the law of the loop's text and the target's.

    Every branch gets a drafter of its own from `make`: some remember the texts they saw. 1 where two draws share a
    name, or a draft is one that no rule can verify.
    """
    try:
        return _distance(verifier, make, scenario)
    except (KeyReused, BadProposal):
        return 1.0


def _distance(verifier: Verifier, make: Make, scenario: Scenario) -> float:
    law = law_of(lambda walker: run(scenario, walker, verifier, make(), prompt=PROMPT)[0])
    return total_variation(law, text_law(scenario, PROMPT))


def _finding(name: str, full: bool, knobs: Knobs | None, faults: dict[str, str]) -> Finding:
    """Of a rule; `faults` is what plug-ins that draft did wrong, which are left out from there on."""
    try:
        rule = _rule(name)
        scenarios = SCENARIOS if full and not rule.coupled else SHORT
        return _judged(name, rule, _over_texts(name, rule, scenarios, knobs, faults))
    except BaseException as error:
        if name in BUILT_IN["verifiers"]:
            raise
        return Finding(name, False, f"the plug-in {name!r} {_said(error)}")


def _rule(name: str) -> Verifier:
    if name in BUILT_IN["verifiers"]:
        return rule_called(name, False, None)
    return RuleBeside(name, lambda: rule_called(name, False, None))


def _over_texts(
    name: str, rule: Verifier, scenarios: Sequence[Scenario], knobs: Knobs | None, faults: dict[str, str]
) -> dict[str, float]:
    """The total variation of the law of every scenario's texts, with every kind of draft."""
    found: dict[str, float] = {}
    for scenario in scenarios:
        for kind, make in (*drafters(scenario), *_model(scenario, knobs, name)):
            if kind in faults:
                continue
            doubted = name in BUILT_IN["verifiers"] and kind not in (*BUILT_IN["drafters"], SAMPLED, BY_MODEL)
            distance = _tried(kind, rule, make, scenario, faults) if doubted else distance_of(rule, make, scenario)
            if distance is not None:
                found[f"{scenario}, {kind}"] = distance
    return found


def _tried(kind: str, rule: Verifier, make: Make, scenario: Scenario, faults: dict[str, str]) -> float | None:
    """`distance_of` with drafts of a plug-in: where a built-in rule has no sound text with them, that is its fault.

    None where it is, and for trees that the rule does not take.
    """
    try:
        distance = _distance(rule, make, scenario)
    except BaseException as error:
        if not isinstance(error, BadInput) or takes_trees(rule):
            faults[kind] = _said(error)
        return None
    if distance < ROUNDING:
        return distance
    faults[kind] = f"bends the law: texts with its drafts are {distance:.1e} away from it in total variation"
    return None


def _said(error: BaseException) -> str:
    """What a plug-in did; raises the error anew where that is not its own."""
    said = fault_of(error)
    return f"failed: {error}" if isinstance(error, TruedrawError) else f"raised {said} ({place_of(error)})"


def _judged(name: str, rule: Verifier, texts: dict[str, float]) -> Finding:
    trees, refused = _over_trees(rule)
    found = trees | texts
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
    yield SAMPLED, lambda: TableDrafter(scenario.draft)
    for name in usable_methods():
        kind = find("drafters", name)
        if all(each.default is not each.empty for each in signature(kind).parameters.values()):
            # any other needs a model of its own: the sampled draft stands for it
            yield name, (kind if name in BUILT_IN["drafters"] else drafter_beside(kind))


def _model(scenario: Scenario, knobs: Knobs | None, rule: str) -> Iterator[tuple[str, Make]]:
    """A draft model with these knobs. Its noise is its own here: what it shares is seen in (b)."""
    if knobs is None:
        return
    if rule in CHAINS:
        knobs = replace(knobs, draft_siblings=None)
    if knobs.draft_sample_method == GUMBEL:
        knobs = replace(knobs, draft_sample_method=None)
    yield BY_MODEL, lambda: ModelDrafter(TabularEngine(scenario.draft), knobs=knobs)
