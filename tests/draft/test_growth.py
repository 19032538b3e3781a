"""A drawn tree of one round: where it asks for laws, in what order it draws, and what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.draft.growing import MARGIN, Draws
from truedraw.draft.growth import Growth, sureness
from truedraw.protocol import ROOT, SparseLaw
from truedraw.sampling.randomness import PhiloxRandomness

SHAPE = (((0, 2),), ((0, 2), (1, 1)), ((0, 1), (2, 2)))
POSITION = 5


class Counting:
    """A law that knows which tokens stand before it."""

    def __init__(self, path=()) -> None:
        self.path = path

    def after(self, token, p=None):
        return Counting((*self.path, token))


class Scripted:
    """Chance that takes the first of what is left, and notes by which names it was asked."""

    def __init__(self) -> None:
        self.asked = []

    def choose(self, weights, purpose, position, node=0):
        self.asked.append((purpose.name, position, node))
        return int(np.flatnonzero(weights)[0])


def sparse(*weights) -> SparseLaw:
    q = np.array(weights, np.float64)
    return SparseLaw(np.arange(len(q)), q / q.sum(), len(q))


def grown(shape=SHAPE, law=None, method="probabilistic", ask=lambda place: sparse(5, 3, 2)):
    chance = Scripted()
    growth, draws = Growth(shape, law or Counting()), Draws(method, chance, POSITION)
    asked = []
    while places := growth.wanted():
        asked.append(places)
        growth.grow([ask(place) for place in places], draws)
    return growth.ended(), asked, chance.asked


def test_a_tree_level_by_level() -> None:
    proposal, asked, names = grown()
    assert proposal.parents.tolist() == [ROOT, ROOT, 0, 0, 1, 2, 4, 4]
    assert proposal.tokens.tolist() == [0, 1, 0, 1, 0, 0, 0, 1]
    assert [[place.node for place in places] for places in asked] == [[ROOT], [0, 1], [2, 4]]
    assert [[place.token for place in places] for places in asked] == [[-1], [0, 1], [0, 0]]
    assert [[place.row for place in places] for places in asked] == [[0], [0, 0], [0, 1]]
    assert [place.law.path for places in asked for place in places] == [(), (0,), (1,), (0, 0), (1, 0)]
    assert names == [("DRAFT", POSITION, node) for node in range(8)]


def test_no_two_draws_have_a_name_in_common_unless_they_share_the_targets_noise() -> None:
    names = grown(method="gumbel")[2]
    assert [name[1] - POSITION for name in names] == [0, 0, 1, 1, 1, 2, 2, 2]
    assert {name[0] for name in names} == {"TARGET"}
    assert grown(method="greedy")[2] == []


def test_laws_are_without_the_candidates_before() -> None:
    proposal = grown((((0, 3),),))[0]
    laws = [law.dense().tolist() for law in proposal.laws]
    np.testing.assert_allclose(laws, [[0.5, 0.3, 0.2], [0, 0.6, 0.4], [0, 0, 1]])
    assert grown((((0, 3),),), method="greedy")[0].laws == (None,) * 3


def test_a_confidence_is_known_before_the_draw() -> None:
    """sum(q^2) of the first, and for each further one the share that the ones before leave, whichever they were."""
    sure = 0.25 + 0.09 + 0.04
    expected = [sure, sure * (1 - sure), sure * (1 - sure) ** 2]
    np.testing.assert_allclose(grown((((0, 3),),))[0].confidence, expected)
    assert sureness(sparse(5, 3, 2)) == pytest.approx(sure)
    drawn = set()
    for seed in range(30):
        growth = Growth((((0, 2),),), Counting())
        growth.grow([sparse(5, 3, 2)], Draws("probabilistic", PhiloxRandomness(seed), POSITION))
        found = growth.ended()
        drawn.add(tuple(found.tokens.tolist()))
        np.testing.assert_allclose(found.confidence, expected[:2])
    assert len(drawn) == 6
    assert grown((((0, 2),),), ask=lambda _: sparse(1, 0))[0].confidence.tolist() == [1 - MARGIN]


def test_what_has_no_law_is_left_out_with_all_behind_it() -> None:
    proposal, asked, _ = grown(ask=lambda place: None if place.node == 0 else sparse(5, 3, 2))
    assert proposal.parents.tolist() == [ROOT, ROOT, 1, 2, 2]
    assert [[place.node for place in places] for places in asked] == [[ROOT], [0, 1], [2]]
    assert [place.row for place in asked[2]] == [1]
    assert len(grown(ask=lambda _: None)[0]) == 0
    assert [len(places) for places in grown(ask=lambda _: None)[1]] == [1]


def test_a_law_with_fewer_tokens_than_candidates() -> None:
    proposal, asked, _ = grown((((0, 3),), ((0, 1), (1, 1), (2, 1))), ask=lambda _: sparse(1, 0, 1))
    assert proposal.parents.tolist() == [ROOT, ROOT, 0, 1]
    assert [place.node for place in asked[1]] == [0, 1]


def test_no_shape_is_no_draft() -> None:
    proposal, asked, _ = grown(())
    assert (len(proposal), asked) == (0, [])
    assert proposal.laws == ()
    assert proposal.confidence.shape == (0,)


def test_a_token_of_no_weight_is_never_drawn_by_rounding() -> None:
    """What is left of a law after its only likely token is drawn from as it is, however little it was."""
    tiny = SparseLaw(np.array([2, 5]), np.array([1.0, 1e-300]), 9)
    growth = Growth((((0, 2),),), Counting())
    growth.grow([tiny], Draws("probabilistic", PhiloxRandomness(1), POSITION))
    found = growth.ended()
    assert found.tokens.tolist() == [2, 5]
    assert found.laws[1].weights.tolist() == [0.0, 1.0]


def test_a_law_that_leaves_nothing_is_drawn_from_by_nobody() -> None:
    nothing = SparseLaw(np.arange(3), np.zeros(3), 3)
    proposal, asked, names = grown(ask=lambda place: nothing if place.node == 0 else sparse(5, 3, 2))
    assert proposal.parents.tolist() == [ROOT, ROOT, 1, 2, 2]
    assert [[place.node for place in places] for places in asked] == [[ROOT], [0, 1], [2]]
    assert len(names) == len(proposal)
