"""The verifier suite sees rules that are right in short chains, small trees and small vocabularies."""

from __future__ import annotations

import pytest

from testing import rule_mutants as others
from testing import verifier_mutants as mutants
from truedraw.testing import verifier_checks

NAMES, MEMORY, SEEDED = "no draw twice", "remembers nothing", "one seed, one text, alone"
CAUGHT = {
    mutants.FromTheFourthOn: "alone: a chain of eight, dense laws",
    mutants.FromTheTwelfthOn: "alone: a chain of twenty, sparse laws",
    mutants.BeyondForty: "alone: a chain of eight, dense laws",
    mutants.BeyondAThousand: "alone: sampled drafts and certain ones by turns, dense laws",
    mutants.OverNineTokens: "alone: a chain over nine tokens, dense laws",
    mutants.Over64Tokens: "alone: a chain over 300 tokens, dense laws",
    mutants.BehindAHighToken: "alone: a chain over 300 tokens, sparse laws",
    mutants.LargeIdsWrapAround: "alone: a chain over 70000 tokens, dense laws",
    mutants.WithWideLaws: "alone: a law of seventy tokens, dense laws",
    mutants.WithThreeSiblings: "alone: three siblings behind four drafts, dense laws",
    mutants.WithFourSiblings: "alone: four siblings, dense laws",
    mutants.LooksAtTheFirstSixSiblings: "alone: seven siblings, dense laws",
    mutants.WithSparseLawsFarDown: "alone: a chain of eight, sparse laws",
    mutants.WithLawsOfBothForms: "alone: four siblings, laws of both forms",
    mutants.WithACertainDraftFirst: "alone: a certain draft before sampled ones, sparse laws",
    mutants.WithACertainDraftThatCannotCome: "alone: a certain draft that cannot come, dense laws",
    mutants.WithUnevenSiblingsBelow: "alone: an uneven tree behind a draft, dense laws",
    mutants.WithACertainSiblingBelow: "alone: a certain sibling behind four drafts, dense laws",
    mutants.WithTwoLaws: "alone: siblings from two laws, dense laws",
    mutants.BelievesTheFirstLaw: "alone: four siblings without replacement, dense laws",
    mutants.BonusFarDown: "alone: a chain of eight, dense laws",
    mutants.WhereTheTargetExcludesADraft: "alone: siblings that cannot come, dense laws",
    mutants.UnderACertainTarget: "alone: siblings under a certain target, dense laws",
    mutants.WithConfidence: "alone: seven siblings, dense laws",
    others.TakesNearLawsForEqual: "alone: a chain by laws all but the target's, dense laws",
    others.NeverDrawsFaintTokens: "alone: a chain under a target of faint tokens, dense laws",
    others.OneCoinForTwo: "alone: a chain of eight, dense laws",
    others.DrawsAsDraftersDo: "alone: a chain of eight, dense laws",
    others.NamesByThePlaceInTheText: NAMES,
    others.RemembersRowsByPosition: MEMORY,
    others.GetsTired: MEMORY,
    others.WritesIntoTheTokens: "verdicts",
    others.WritesIntoAFarRow: "alone: a chain of eight, dense laws",
    others.NoiseOfTheTree: SEEDED,
    others.NoiseFarDown: SEEDED,
}


@pytest.mark.parametrize("kind", CAUGHT, ids=lambda kind: kind.__name__)
def test_broken_rules(kind) -> None:
    check = next(check for check in verifier_checks(kind) if check.name == CAUGHT[kind])
    with pytest.raises(AssertionError):
        check()
