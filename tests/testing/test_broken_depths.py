"""Laws that are wrong far down, with large budgets or in large batches alone are seen, over few tokens and many."""

from __future__ import annotations

import pytest

from testing import bigram_mutants as mutants
from testing.failures import failures
from truedraw.testing import drafter_checks

LONG, LAST, DRAWN = "long drafts follow their laws, plain", "the last of many texts follows its laws", "draws follow"
MUCH = "drafts behind a long text follow their laws"


class WrongInLongTexts(mutants.Deep):
    """Behind 40 tokens."""

    def wrong(self, node):
        return self.place > 40


CAUGHT = {
    mutants.WrongFromTheFifthOn: LONG,
    mutants.WrongWithALargeBudget: LONG,
    mutants.WrongInLargeBatches: LAST,
    WrongInLongTexts: MUCH,
}


def failing(make, vocab: int) -> dict[str, str]:
    checks = drafter_checks(lambda: make(vocab), vocab)
    return failures([check for check in checks if check.name.startswith((LONG, LAST, MUCH, DRAWN))], AssertionError)


@pytest.mark.parametrize("vocab", [2, 3])
@pytest.mark.parametrize("kind", CAUGHT, ids=lambda kind: kind.__name__)
def test_wrong_over_few_tokens(kind, vocab) -> None:
    assert "is drawn with the law" in failing(kind, vocab)[CAUGHT[kind]]


@pytest.mark.parametrize("kind", [*CAUGHT, mutants.WrongFromTheNinthOn], ids=lambda kind: kind.__name__)
def test_wrong_over_many_tokens(kind) -> None:
    assert " the laws that they came with; " in failing(kind, 12)["draws follow their laws"]


def test_a_confidence_that_knows_the_token() -> None:
    few, many = (failing(mutants.SureOfWhatCame, vocab) for vocab in (3, 12))
    assert "given its confidence of" in few[LONG]
    assert "given its confidence of" in few[LAST]
    assert "a confidence that is known before it is" in many["draws follow their laws"]


@pytest.mark.parametrize("vocab", [3, 12])
def test_a_confidence_that_may_be(vocab) -> None:
    assert failing(mutants.Sure, vocab) == {}


@pytest.mark.parametrize("vocab", [2, 3, 4, 5, 12])
def test_the_drafter_of_the_page(vocab) -> None:
    assert failing(mutants.Bigrams, vocab) == {}
