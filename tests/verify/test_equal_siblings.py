"""Equal siblings are one text with several subtrees, and the order of siblings is the rule's to choose: tokens kept."""

from __future__ import annotations

import numpy as np
import pytest

from enumeration import law_of
from sibling_drafts import Shape, Tables, tree
from truedraw.protocol import ROOT, Proposal
from truedraw.registry import find
from verify.cases import TABLES
from verify.one_round import emitted, expected_tokens

ROUNDING = 1e-12
CLEAR = 1e-3
TWINS = Proposal(np.array([1, 1, 1, 0, 2, 0]), np.array([ROOT, ROOT, ROOT, 0, 1, 4]), (None,) * 6)
"""Token 1 stands three times at the start; below it are 0 and 2 under different nodes, and 0 again under that 2."""


def rows_of_twins() -> np.ndarray:
    """p [7, 3] after the text and each node; equal texts have equal rows."""
    first, behind, *others = np.random.default_rng(2).dirichlet(np.ones(3), size=5)
    return np.array([first, behind, behind, behind, *others])


@pytest.mark.parametrize("name", ["coupled", "traversal"])
def test_what_stands_below_any_of_several_equal_drafts_is_kept(name: str) -> None:
    rows, rule = rows_of_twins(), find("verifiers", name)()
    law = law_of(lambda walker: rule(TWINS, rows, walker.sample(0), 9).tokens)
    one, two = rows[0][1], rows[1]
    expected = 1 + one * (1 + two[0] + two[2] * (1 + rows[5][0]))
    assert expected_tokens(law) == pytest.approx(expected, abs=ROUNDING)


CERTAIN_FIRST = tree("certain first", (ROOT, "t0"), (ROOT, "q"), (0, "q"))
SAMPLED_FIRST = tree("sampled first", (ROOT, "q"), (ROOT, "t0"), (1, "q"))


def kept(name: str, tables: Tables, shape: Shape) -> float:
    return expected_tokens(emitted(tables, shape, find("verifiers", name)()))


@pytest.mark.parametrize("name", ["recursive", "traversal"])
def test_siblings_are_tried_as_they_stand(name: str) -> None:
    both = [[kept(name, tables, shape) for shape in (CERTAIN_FIRST, SAMPLED_FIRST)] for tables in TABLES]
    assert max(abs(first - second) for first, second in both) > CLEAR
