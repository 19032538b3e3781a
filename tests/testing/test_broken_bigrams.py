"""Laws that are wrong in company, behind forced tokens or in long texts are seen; the drafter of the page passes."""

from __future__ import annotations

import pytest

from testing import bigram_mutants as mutants
from truedraw.testing import drafter_checks

DRAWN, PAIR, FORCED = "draws follow their laws", "exact law, two samples", "exact law, behind forced tokens"
AT_LARGE = (
    mutants.ArgmaxAsASample,
    mutants.BestOfTwo,
    mutants.DropsTheUnlikely,
    mutants.SaysAFlatLaw,
    mutants.CopiesInACall,
    mutants.LikeliestBehindForcedTokens,
    mutants.DropsInLongTexts,
    mutants.DropsWithALargeBudget,
    mutants.DropsAtATemperature,
)
OF_THREE = {
    mutants.CopiesInACall: {PAIR},
    mutants.LikeliestBehindForcedTokens: {FORCED},
}


def seen(make, vocab: int, of: str) -> set[str]:
    """The checks whose names begin so and that fail."""
    found = set()
    for check in drafter_checks(lambda: make(vocab), vocab):
        try:
            if check.name.startswith(of):
                check()
        except AssertionError:
            found.add(check.name)
    return found


@pytest.mark.parametrize("kind", AT_LARGE, ids=lambda kind: kind.__name__)
def test_wrong_draws_over_twelve_tokens(kind) -> None:
    assert seen(kind, 12, "draws") == {DRAWN}


@pytest.mark.parametrize("vocab", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", OF_THREE, ids=lambda kind: kind.__name__)
def test_wrong_laws_that_one_free_sample_does_not_show(kind, vocab) -> None:
    assert seen(kind, vocab, "exact") == OF_THREE[kind]


def test_a_drafter_of_which_nothing_could_be_seen() -> None:
    (check,) = (each for each in drafter_checks(lambda: mutants.Certain(12), 12) if each.name == DRAWN)
    with pytest.raises(AssertionError, match=r"nothing was tested: 0 draws .* at least 0.3 nats, expected are 500"):
        check()


@pytest.mark.parametrize("check", drafter_checks(lambda: mutants.Bigrams(12), vocab_size=12), ids=str)
def test_the_drafter_of_the_page_over_twelve_tokens(check) -> None:
    check()
