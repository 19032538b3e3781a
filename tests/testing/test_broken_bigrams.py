"""Laws that are wrong in company, behind forced tokens or in long texts are seen; the drafter of the page passes."""

from __future__ import annotations

import re

import pytest

from testing import bigram_mutants as mutants
from truedraw.testing import drafter_checks, drafter_draws
from truedraw.testing.drafter_laws import law_checks

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
    mutants.RareAndLikeliest,
    mutants.RareAndBestOfTwo,
    mutants.JitterAndLikeliest,
    mutants.JitterAndBestOfTwo,
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


@pytest.mark.parametrize("kind", [mutants.Rare, mutants.Jitter], ids=lambda kind: kind.__name__)
def test_right_draws_that_come_rarely_or_from_laws_that_never_come_twice(kind) -> None:
    assert not seen(kind, 12, "draws") | seen(kind, 12, "texts")


def untested(make) -> str:
    """What is said of a drafter of which nothing could be seen."""
    (check,) = (each for each in drafter_checks(make, 12) if each.name == DRAWN)
    with pytest.raises(AssertionError, match=r"nothing was tested: \d+ draws .* 0.3 nats, expected are 500") as raised:
        check()
    return str(raised.value)


def test_a_drafter_that_is_too_certain() -> None:
    said = untested(lambda: mutants.Certain(12))
    assert "nothing was tested: 0 draws" in said
    assert "drafted in 5000 of 5000 rounds: make a drafter that is less certain" in said


def test_a_drafter_that_drafts_too_rarely(monkeypatch) -> None:
    monkeypatch.setattr(drafter_draws, "MOST_ROUNDS", 10_000)
    monkeypatch.setattr(mutants.Rare, "share", 0.01)
    said = untested(lambda: mutants.Rare(12))
    assert re.search(r"drafted in \d\d of 10000 rounds: make a drafter that drafts more often", said)


def test_rounds_go_on_until_enough_was_drawn(monkeypatch) -> None:
    monkeypatch.setattr(mutants.Rare, "share", 0.01)
    found = drafter_draws.seen_of(mutants.Rare(12), 12)
    assert drafter_draws.DRAWS < found.rounds < drafter_draws.MOST_ROUNDS
    assert drafter_draws.telling(found.groups()) >= drafter_draws.FEWEST_DRAWS


@pytest.mark.parametrize("vocab", [3, 5])
def test_drafters_that_are_made_for_a_branch_are_closed(vocab) -> None:
    made, closed = [], []

    class Held(mutants.Bigrams):
        def close(self):
            closed.append(self)

    def make():
        made.append(Held(vocab))
        return made[-1]

    for check in law_checks(make, vocab):
        check()
    assert len(made) > 1
    assert closed == made


@pytest.mark.parametrize("check", drafter_checks(lambda: mutants.Bigrams(12), vocab_size=12), ids=str)
def test_the_drafter_of_the_page_over_twelve_tokens(check) -> None:
    check()
