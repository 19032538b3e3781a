"""The oracle has teeth: every known bug of rules and drafting changes a law, or draws one number twice."""

from __future__ import annotations

import numpy as np
import pytest

from enumeration import KeyReused, law_of, total_variation
from sibling_drafts import Drawing, chain, flat
from truedraw.protocol import Proposal
from truedraw.registry import find
from verify import block_twin, draft_mutants, tree_mutants
from verify.cases import ALL, CHAINS, INDEPENDENT, PATHS, TABLES, affordable, drawn
from verify.one_round import distance, emitted, expected_tokens

VISIBLE = 1e-6  # of total variation; the oracle itself is exact to 1e-12
ROUNDING = 1e-12
TRIALS = [drawn("pair", 2, 2, 70), drawn("triple", 3, 1, 80), drawn("masked", 3, 1, 92, zeros=0.5)]
TREES = [shape for shape in ALL if shape not in CHAINS]


def largest_bias(rule, shapes, draft=Drawing.proposal, tables=TRIALS) -> float:
    """The greatest total variation seen; infinite where a draw is repeated."""
    try:
        return max(
            distance(each, emitted(each, shape, rule, draft))
            for each in tables for shape in shapes if affordable(each, shape)
        )  # fmt: skip
    except KeyReused:
        return np.inf


@pytest.mark.parametrize("mutant", block_twin.MUTANTS, ids=lambda kind: kind.__name__)
def test_every_known_bug_of_block_verification_is_caught(mutant) -> None:
    assert largest_bias(mutant(), CHAINS) > VISIBLE


def test_the_twin_without_a_bug_is_block_verification() -> None:
    for tables in TABLES[:7]:
        for shape in CHAINS:
            if affordable(tables, shape):
                ours = emitted(tables, shape, find("verifiers", "block")())
                assert total_variation(ours, emitted(tables, shape, block_twin.BlockTwin())) < ROUNDING


@pytest.mark.parametrize("name", tree_mutants.MUTANTS)
def test_every_known_bug_of_the_tree_rules_is_caught(name: str) -> None:
    shapes = INDEPENDENT if "KSeq" in name or "Rho" in name else PATHS if "Path" in name or "Share" in name else TREES
    assert largest_bias(tree_mutants.MUTANTS[name], shapes) > VISIBLE


def test_how_far_off_it_is_to_decide_first_by_the_drawn_tree() -> None:
    mutant = tree_mutants.MUTANTS["DecidesFirstWhereLaterSiblingsReachDeeper"]
    likelier = next(shape for shape in TREES if shape.name == "below a draft the likelier sibling is drafted on")
    assert largest_bias(mutant, [likelier], tables=TABLES) == pytest.approx(0.037, abs=5e-4)


SHAPES = {"qq": flat(*"qq"), "ww": flat(*"ww"), "h t0": flat("h", "t0"), "chain": chain(*"qqq")}


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("draft", draft_mutants.MUTANTS, ids=lambda draft: draft.__name__)
def test_every_known_bug_of_drafting_is_caught(draft, rule: str) -> None:
    shape = SHAPES[draft_mutants.MUTANTS[draft]]
    assert largest_bias(find("verifiers", rule)(), [shape], draft) > VISIBLE


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("draft", draft_mutants.TWINS, ids=lambda draft: draft.__name__)
def test_dropping_tokens_is_exact_with_the_law_of_what_is_left(draft, rule: str) -> None:
    shape = SHAPES[draft_mutants.TWINS[draft]]
    assert largest_bias(find("verifiers", rule)(), [shape], draft, TABLES) < ROUNDING


def test_the_unmutated_round_of_the_tree_mutants_is_exact() -> None:
    assert largest_bias(tree_mutants.Traversing(), TREES) < ROUNDING


def test_samples_treated_as_certain_are_exact_and_keep_less() -> None:
    """Draw from p and keep while equal: what several public engines do, and what others wrongly call biased."""

    def certain(drawing: Drawing) -> Proposal:
        proposal = drawing.proposal()
        return Proposal(proposal.tokens, proposal.parents, (None,) * len(proposal))

    rule = find("verifiers", "traversal")()
    assert largest_bias(rule, [*CHAINS, *TREES], certain) < ROUNDING
    lengths = [expected_tokens(emitted(TABLES[2], chain(*"qqq"), rule, draft)) for draft in (certain, Drawing.proposal)]
    assert lengths[0] < lengths[1] - 0.1


@pytest.mark.parametrize("name", ["traversal", "block", "recursive", "token"])
def test_another_samples_token_is_a_certain_draft_and_no_draw_from_p(name: str) -> None:
    """With the law p it is always kept: each sample has the right law, and the two are copies of one another."""
    p = np.array([0.5, 0.3, 0.2])
    rule = find("verifiers", name)()

    def pair(law):
        def run(walker):
            first = rule(Proposal.chain(()), [p], walker.sample(0), 5).tokens[0]
            second = rule(Proposal.chain([first], [law]), [p, p], walker.sample(1), 5).tokens[0]
            return first, second

        return law_of(run)

    independent = {(a, b): p[a] * p[b] for a in range(3) for b in range(3)}
    assert total_variation(pair(None), independent) < ROUNDING
    assert total_variation(pair(p), independent) == pytest.approx(1 - (p**2).sum())
