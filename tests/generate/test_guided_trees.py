"""Guided generation over trees of drafts: the matcher is forked at siblings, each node is masked by its own prefix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enumeration import law_of, total_variation
from generate.guided_mutants import Unguided
from generate.test_guided_exact import ROUNDING, SCENARIOS, VISIBLE, definition, scenario
from generate.tree_law_mutants import ParentIsTheNodeBefore, ParentIsTheText, law_with
from guided import END, legal_after, llguidance_step, masked_text_law
from known_laws import Scenario
from truedraw.protocol import ROOT
from truedraw.registry import find
from truedraw.testing.runs import PROMPT, run
from truedraw.testing.trees import SHAPES, Shape, TreeDrafter

RULES = ["traversal", "recursive"]
BELOW_THE_SECOND = Shape("a draft below the second sibling", ((ROOT, "w"), (ROOT, "w"), (1, "q")))
PAIRS = [shape for shape in SHAPES if len(shape.nodes) == 2]
SMALL = [*PAIRS, BELOW_THE_SECOND]
FORK = scenario("each sibling goes on in its own way", 340, [(0, 1, 1, END), (0, 2, 1, END), (1, 0, 0, END), (2, END)])


class UnguidedTree(Unguided, TreeDrafter):
    """A tree of drafts that knows of no grammar."""


def over(case: Scenario, shape: Shape) -> Scenario:
    """The scenario with room for the whole shape in its first round."""
    size = len(shape.nodes)
    return replace(case, draft_tokens=size, max_tokens=max(case.max_tokens, size + 1))


def enumerated(case: Scenario, drafter, verifier: str):
    return law_of(lambda walker: run(case, walker, find("verifiers", verifier)(), drafter, prompt=PROMPT)[0])


@pytest.mark.parametrize("verifier", RULES)
@pytest.mark.parametrize("shape", SMALL, ids=str)
@pytest.mark.parametrize("kind", [TreeDrafter, UnguidedTree], ids=["knows the grammar", "does not"])
@pytest.mark.parametrize("case", [*SCENARIOS, FORK], ids=str)
def test_the_law_with_a_tree_of_drafts_is_the_masked_one(case: Scenario, kind, shape: Shape, verifier: str) -> None:
    case = over(case, shape)
    assert total_variation(enumerated(case, kind(case.draft, shape), verifier), definition(case)) < ROUNDING


@pytest.mark.parametrize("verifier", RULES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_keeps_the_law_where_siblings_part(shape: Shape, verifier: str) -> None:
    case = over(FORK, shape)
    assert total_variation(enumerated(case, TreeDrafter(case.draft, shape), verifier), definition(case)) < ROUNDING


@pytest.mark.parametrize("verifier", RULES)
@pytest.mark.parametrize("text", ["(a|b)c*(ab)?", "(aabb|c|ba*)"])
def test_llguidance_is_forked_at_siblings(text: str, verifier: str) -> None:
    case = replace(FORK, masks=(llguidance_step("regex", text),), max_tokens=3)
    expected = masked_text_law(case, PROMPT, lambda so_far: legal_after(case.masks[0], so_far, 4))
    for shape in PAIRS:
        for kind in (TreeDrafter, UnguidedTree):
            law = enumerated(replace(case, draft_tokens=2), kind(case.draft, shape), verifier)
            assert total_variation(law, expected) < ROUNDING


@pytest.mark.parametrize("verifier", RULES)
@pytest.mark.parametrize("rows", [ParentIsTheNodeBefore, ParentIsTheText], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("case", [SCENARIOS[0], FORK], ids=str)
def test_a_mask_of_another_node_is_caught(case: Scenario, rows, verifier: str) -> None:
    def bad(shape: Shape) -> bool:
        chosen = over(case, shape)
        law = law_with(rows, chosen, lambda: UnguidedTree(chosen.draft, shape), verifier, PROMPT)
        return law is None or total_variation(law, definition(chosen)) > VISIBLE

    assert any(map(bad, SMALL))
