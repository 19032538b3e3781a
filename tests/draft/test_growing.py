"""What a draft says of itself before it is drawn, and certain tokens in front of a tree."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from draft.drafting import TABLE, propose
from known_laws import lookup
from truedraw.draft.growing import MARGIN, Branch, Draws, sureness, without
from truedraw.draft.joining import join
from truedraw.draft.knobs import METHODS, Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import Proposal, SparseLaw
from truedraw.sampling.randomness import PhiloxRandomness


@pytest.mark.parametrize(
    ("logits", "expected"),
    [
        ([0.0, 2.0, -1.0], 1 / (1 + np.exp(-2.0))),
        ([3.0, 3.0], 0.5),
        ([1.0, -np.inf, -np.inf], 1 - MARGIN),
        ([5.0], 1 - MARGIN),
        ([-4.0, 0.5, 0.0], 1 / (1 + np.exp(-0.5))),
    ],
)
def test_sureness_is_the_odds_of_the_two_likeliest(logits, expected: float) -> None:
    assert sureness(np.array(logits, np.float32)) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("knobs", [{}, {"draft_sample_method": "greedy"}, {"draft_siblings": 3}], ids=str)
def test_confidence_does_not_depend_on_what_was_drawn(knobs) -> None:
    """Nodes of one parent: the first has the odds of the two likeliest tokens there, the others what it leaves."""
    drafter = ModelDrafter(TabularEngine(TABLE), knobs=Knobs(**knobs))
    for seed in range(5):
        [proposal] = propose(drafter, (5,), [[0, 1]], seed=seed)
        second, first = np.sort(lookup(TABLE, [1]))[-2:]
        siblings = int((proposal.parents == -1).sum())
        odds = first / (first + second)
        assert proposal.confidence[:siblings] == pytest.approx([odds, *[1 - odds] * (siblings - 1)], abs=1e-6)
        for node in range(siblings, len(proposal)):
            before = int(proposal.tokens[proposal.parents[node]])
            second, first = np.sort(lookup(TABLE, [before]))[-2:]
            assert proposal.confidence[node] == pytest.approx(first / (first + second), abs=1e-6)


def test_certain_tokens_go_in_front_of_a_tree() -> None:
    tree = Proposal(np.array([4, 5, 6]), np.array([-1, -1, 0]), (None,) * 3, np.array([0.3, 0.2, 0.1]))
    whole = join((7, 8), tree)
    assert whole.tokens.tolist() == [7, 8, 4, 5, 6]
    assert whole.parents.tolist() == [-1, 0, 1, 1, 2]
    assert whole.confidence.tolist() == [1.0, 1.0, 0.3, 0.2, 0.1]
    assert join((), tree) is tree
    assert join((7,), Proposal.chain([1])).confidence is None


SPARSE = SparseLaw(np.array([1, 4, 5, 8]), np.array([0.2, 0.35, 0.35, 0.1]), 9)


@pytest.mark.parametrize("method", METHODS)
def test_a_token_does_not_depend_on_the_form_of_its_law(method: str) -> None:
    vector = SPARSE.dense()
    for seed in range(40):
        draws = Draws(method, PhiloxRandomness(seed), 6)
        (token, law), (again, same) = (draws.token(q, 2, 1) for q in (SPARSE, vector))
        assert token == again
        assert (law is None) == (same is None)
        assert law is None or (law is SPARSE and same is vector)


def test_without_a_token_either_form_is_the_same_law() -> None:
    for token in (0, 1, 5, 7, 8):
        left = without(SPARSE, token)
        assert isinstance(left, SparseLaw)
        np.testing.assert_allclose(left.dense(), without(SPARSE.dense(), token), atol=1e-16)
    assert SPARSE.weights.tolist() == [0.2, 0.35, 0.35, 0.1]
    assert not without(SparseLaw(np.array([3]), np.ones(1), 9), 3).weights.any()


@pytest.mark.parametrize(("behind", "starts"), [((), True), ((1,), True), ((1, 2), False)])
def test_what_must_come_takes_room_in_the_draft_model(behind, starts: bool) -> None:
    text = SimpleNamespace(ids=lambda tokens: tokens, room=lambda rows: 2 - rows, sequence=lambda: "a text")
    assert Branch(None, text, behind, 9).starts() is starts


def test_no_more_candidates_are_drawn_than_there_are_drafts_to_make() -> None:
    drafter = ModelDrafter(TabularEngine(TABLE), knobs=Knobs(draft_siblings=4))
    for budget in range(1, 6):
        [proposal] = propose(drafter, (budget,), [[0, 1]])
        assert proposal.parents.tolist() == [*[-1] * min(budget, 4), *[0] * (budget - 4)]
