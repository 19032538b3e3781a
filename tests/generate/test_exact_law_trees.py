"""The production loop over trees of drafts with every parameter of the law: each node has the law of its own prefix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enumeration import law_of, total_variation
from generate.test_exact_law import PROMPT, ROUNDING, SCENARIOS, VISIBLE
from generate.tree_law_mutants import FirstRowIsP, ParentIsTheNodeBefore, ParentIsTheText, SiblingsWithoutP, law_with
from known_laws import Scenario
from law_definitions import text_law
from truedraw.protocol import ROOT
from truedraw.registry import find
from truedraw.testing.runs import run
from truedraw.testing.trees import SHAPES, Shape, TreeDrafter

RULES = ["traversal", "recursive"]
BELOW_THE_SECOND = Shape("a draft below the second sibling", ((ROOT, "w"), (ROOT, "w"), (1, "q")))
PAIRS = [shape for shape in SHAPES if len(shape.nodes) == 2]
LONG = ["choices left out", "choices always left out", "a short text"]  # XTC's coins make these large
ENDLESS = ["bigrams once"]  # three tokens have no fourth place without a bigram that stood before
SHORT = ["mirostat", "mirostat, penalised", "a late end", "narrowing", "temperature last",
         "only the likely", "a long draft"]  # fmt: skip


def over(case: Scenario, shape: Shape) -> Scenario:
    """The scenario with room for the whole shape in its first round."""
    size = len(shape.nodes)
    return replace(case, draft_tokens=size, max_tokens=max(case.max_tokens, size + 1))


def cases() -> list[tuple[Scenario, Shape]]:
    found = [(case, shape) for case in SCENARIOS for shape in PAIRS]
    found += [(case, BELOW_THE_SECOND) for case in SCENARIOS if case.name not in [*LONG, *ENDLESS]]
    return found + [(case, shape) for case in SCENARIOS if case.name in SHORT for shape in SHAPES if shape not in PAIRS]


@pytest.mark.parametrize("verifier", RULES)
@pytest.mark.parametrize(("case", "shape"), cases(), ids=str)
def test_the_law_with_a_tree_of_drafts_is_the_definition(case: Scenario, shape: Shape, verifier: str) -> None:
    case, rule = over(case, shape), find("verifiers", verifier)()
    law = law_of(lambda walker: run(case, walker, rule, TreeDrafter(case.draft, shape), prompt=PROMPT)[0])
    assert total_variation(law, text_law(case, PROMPT)) < ROUNDING


CAUGHT = {
    ParentIsTheNodeBefore: ["repetition", "frequency and presence", "bigrams once", "bad words", "cooling", "mirostat",
                            "a long draft"],
    ParentIsTheText: ["frequency and presence", "bad words", "cooling", "mirostat", "much together"],
    SiblingsWithoutP: ["mirostat", "mirostat, penalised", "a long draft"],
    FirstRowIsP: ["mirostat", "a long draft"],
}  # fmt: skip
"""In which scenarios."""


@pytest.mark.parametrize("verifier", RULES)
@pytest.mark.parametrize(("rows", "name"), [(rows, name) for rows, names in CAUGHT.items() for name in names])
def test_every_known_bug_at_siblings_is_caught(rows, name: str, verifier: str) -> None:
    case = next(case for case in SCENARIOS if case.name == name)
    shapes = PAIRS if name in ENDLESS else [*PAIRS, BELOW_THE_SECOND]
    assert any(caught(rows, over(case, shape), shape, verifier) for shape in shapes)


def caught(rows, case: Scenario, shape: Shape, verifier: str) -> bool:
    law = law_with(rows, case, lambda: TreeDrafter(case.draft, shape), verifier, PROMPT)
    return law is None or total_variation(law, text_law(case, PROMPT)) > VISIBLE
