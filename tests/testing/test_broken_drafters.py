"""Each check of states and statistics sees the drafters that it is there for, and passes one that is right."""

from __future__ import annotations

import pytest

from testing import drafter_mutants as mutants
from testing.drafter_mutants import CONTEXT, VOCAB, Bent, Sampled
from truedraw.testing.drafter_draws import ASKED, DRAWS
from truedraw.testing.drafter_states import state_checks
from truedraw.testing.drafter_statistics import statistics_checks
from truedraw.testing.goodness import visible

DRAWN, OUT = "draws follow their laws", "texts follow the target's law"
CAUGHT = {
    mutants.DropsTheUnlikely: DRAWN,
    mutants.LikeliestUnderALaw: OUT,
    mutants.OneChanceForAll: DRAWN,
    mutants.FollowsItsOwnDrafts: "tokens that it did not propose",
    mutants.OnePageACommit: "long jumps",
    mutants.TheNextIdExists: "the first and the last token",
    mutants.Board: "a huge budget",
    mutants.ByTheFirstOrder: "states in any order",
    mutants.DraftsOnBehindItsDrafts: "asked twice",
    mutants.LooksAheadInPlace: "looking ahead",
    mutants.NeedsScores: "rounds heard of late",
    mutants.DraftsByAKeptRow: "scores that are written over",
    mutants.WritesIntoTheLogits: "scores that are written over",
    mutants.GivesBackTwice: "closed texts",
    mutants.CannotCloseTwice: "closed texts",
    mutants.StaysBusy: "another text's fault",
    mutants.SaysItToNobody: "what drafts are worth",
    mutants.WorthMoreBehind: "what drafts are worth",
    mutants.PastItsContext: "a full context",
}


def checks(make) -> dict:
    context = CONTEXT if make is mutants.PastItsContext else None
    return {check.name: check for check in (*state_checks(make, VOCAB, context), *statistics_checks(make, VOCAB))}


@pytest.mark.parametrize("kind", CAUGHT, ids=lambda kind: kind.__name__)
def test_broken_drafters(kind) -> None:
    with pytest.raises(AssertionError) as caught:
        checks(kind)[CAUGHT[kind]]()
    assert caught.value.__notes__ == [f"in the check {CAUGHT[kind]!r}"]


@pytest.mark.parametrize("name", checks(Sampled))
def test_a_drafter_that_is_right(name) -> None:
    checks(Sampled)[name]()


def test_every_check_has_something_to_see() -> None:
    assert {*checks(Sampled), *checks(mutants.PastItsContext)} == {*CAUGHT.values()}


@pytest.mark.parametrize("seed", [31, 32, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(33, 37))])
def test_a_law_at_the_stated_distance_is_seen(seed) -> None:
    """What the page says is seen: any law that far off, also the one which is hardest to see."""
    draws = DRAWS * sum(asked.temperature == 1.0 for asked in ASKED) // len(ASKED)
    distance = visible(draws, cells=VOCAB)
    with pytest.raises(AssertionError, match=r"the place \(0,\).* do not follow the laws"):
        checks(lambda: Bent(distance, seed))[DRAWN]()
