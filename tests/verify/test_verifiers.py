"""What enumeration cannot show: rounding, trees, misuse. The laws themselves are in tests/generate/test_exact.py."""

from __future__ import annotations

import numpy as np
import pytest

from enumeration import law_of, total_variation
from truedraw.protocol import ROOT, Proposal
from truedraw.registry import find
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.token import TokenVerifier, residual

TREE = Proposal(np.array([0, 1, 1, 2, 0, 0]), np.array([ROOT, ROOT, 0, 0, 1, 4]), (None,) * 6)
CHAIN = Proposal.chain([0, 2])
ROWS = np.random.default_rng(0).dirichlet(np.ones(3), size=7)


def test_a_tree_of_any_shape_keeps_the_law_under_coupled_verification() -> None:
    """The emitted path is a plain walk down the rows: its law by definition, its length by the tree."""
    law = law_of(lambda walker: CoupledVerifier()(TREE, ROWS, walker.sample(0), 9).tokens)
    expected = {}
    walk = [((), 0, 1.0)]
    while walk:
        text, row, weight = walk.pop()
        for token in range(3):
            below = [i for i in range(6) if TREE.parents[i] == row - 1 and TREE.tokens[i] == token]
            step = ((*text, token), 1 + below[0] if below else None, weight * ROWS[row][token])
            if below:
                walk.append(step)
            else:
                expected[step[0]] = expected.get(step[0], 0) + step[2]
    assert total_variation(law, expected) < 1e-12


@pytest.mark.parametrize(("rule", "proposal"), [
    *((rule, TREE) for rule in ("coupled", "traversal", "recursive")),
    *((rule, CHAIN) for rule in ("coupled", "traversal", "recursive", "token", "block", "kseq", "multipath")),
])  # fmt: skip
def test_a_verdict_says_whether_a_draft_stood_where_its_last_token_was_drawn(rule, proposal) -> None:
    verify, seen = find("verifiers", rule)(), set()
    for seed in range(200):
        verdict = verify(proposal, ROWS[: 1 + len(proposal)], PhiloxRandomness(seed, 0), 5)
        node, below = ROOT, proposal.parents == ROOT
        for token in verdict.tokens[:-1]:
            node = int(np.flatnonzero(below & (proposal.tokens == token))[0])
            below = proposal.parents == node
        assert verdict.rejected == below.any()
        seen.add((verdict.num_accepted, verdict.rejected))
    assert {rejected for _, rejected in seen} == {True, False}


def test_token_wise_verification_refuses_what_is_not_a_chain() -> None:
    with pytest.raises(ValueError, match="chains"):
        TokenVerifier()(TREE, ROWS, None, 0)


def test_the_residual_is_p_where_rounding_leaves_nothing() -> None:
    p = np.array([0.25, 0.75])
    assert residual(p, p.copy(), 0) is p
    assert residual(p, p * (1 + 1e-16), 1).sum() > 0
    assert residual(np.array([1.0, 0.0]), None, 0).tolist() == [1.0, 0.0]


def test_the_residual_of_a_certain_draft_is_p_without_it() -> None:
    p = np.array([0.2, 0.5, 0.3])
    assert residual(p, None, 1).tolist() == [0.2, 0.0, 0.3]
    assert p.tolist() == [0.2, 0.5, 0.3]
