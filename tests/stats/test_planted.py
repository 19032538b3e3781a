"""Planted bugs: the distance they claim is the enumerated one, and without a bug nothing is planted."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from truedraw.protocol import ROOT, Proposal, Purpose
from truedraw.stats.check.controls import toy_drafter
from truedraw.stats.check.drawing import Note
from truedraw.stats.check.enumerated import SMALL, distance_of
from truedraw.stats.check.planted import BUGS, Bug, PlantedVerifier
from truedraw.stats.leaning import Draft, event
from truedraw.testing import law_of, total_variation
from truedraw.testing.sparse import sparse

P = np.array([0.1, 0.5, 0.25, 0.15])
Q = np.array([0.4, 0.3, 0.2, 0.1])
SINGLE = [bug for bug in (*BUGS, Bug("none")) if not bug.shared]


def emitted(bug: Bug, certain: bool, law=Q) -> dict:
    def run(walker):
        chance = walker.sample(0)
        token = 0 if certain else chance.choose(Q, Purpose.DRAFT, 2, 0)
        proposal = Proposal.chain([token], [None if certain else law])
        return PlantedVerifier(bug)(proposal, [P, P], chance, 2).tokens[0]

    return law_of(run)


@pytest.mark.parametrize("certain", [True, False], ids=["certain", "sampled"])
@pytest.mark.parametrize("bug", SINGLE, ids=lambda bug: bug.name)
def test_the_claimed_distance_is_the_enumerated_one(bug: Bug, certain: bool) -> None:
    note = Note(0, None if certain else np.log(Q).astype(np.float16))
    claimed = bug.distance(P, note)
    assert claimed == pytest.approx(total_variation(emitted(bug, certain), dict(enumerate(P))), abs=1e-3)


@pytest.mark.parametrize("bug", SINGLE, ids=lambda bug: bug.name)
def test_the_claimed_distance_among_siblings(bug: Bug) -> None:
    siblings = Proposal(np.array([0, 2, 3]), np.full(3, ROOT), (None,) * 3)
    drawn = law_of(lambda walker: PlantedVerifier(bug)(siblings, [P] * 4, walker.sample(0), 2).tokens[0])
    claimed = bug.distance(P, Note(0, None, (2, 3)))
    assert claimed == pytest.approx(total_variation(drawn, dict(enumerate(P))), abs=1e-9)
    assert (claimed > 0.05) >= bug.siblings


def test_the_bonus_row_and_shared_noise() -> None:
    bonus = next(bug for bug in BUGS if "bonus" in bug.name)
    drawn = law_of(lambda walker: PlantedVerifier(bonus)(Proposal.chain(()), [P], walker.sample(0), 2).tokens[0])
    assert bonus.distance(P, None) == pytest.approx(total_variation(drawn, dict(enumerate(P))))
    shared = next(bug for bug in BUGS if bug.shared)
    pair = {(i, j): P[i] * P[j] for i in range(4) for j in range(4)}
    assert shared.distance(P, None) == pytest.approx(total_variation({(i, i): P[i] for i in range(4)}, pair))


@pytest.mark.parametrize("bug", SINGLE, ids=lambda bug: bug.name)
def test_enumeration_sees_every_bug_and_nothing_without_one(bug: Bug) -> None:
    found = distance_of(PlantedVerifier(bug), partial(toy_drafter, bug), SMALL)
    assert (found > 1e-4) == (bug.name != "none")


@pytest.mark.parametrize("bug", SINGLE, ids=lambda bug: bug.name)
def test_a_bug_does_the_same_to_a_sparse_law(bug: Bug) -> None:
    assert emitted(bug, certain=False, law=sparse(Q)) == emitted(bug, certain=False)


def test_what_is_noted_of_a_draft_does_not_depend_on_the_form_of_its_law() -> None:
    q = np.array([0.4, 0.0, 0.5, 0.1])
    for token in range(4):
        assert event(P, Draft(2, sparse(q)), token) == event(P, Draft(2, q), token)
    assert np.array_equal(Note.of(Draft(2, sparse(q))).log_q, Note.of(Draft(2, q)).log_q)
