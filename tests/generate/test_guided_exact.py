"""Guided generation through the production loop, enumerated: p masked and renormalised at every place, no tolerance."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from enumeration import KeyReused, Walker, law_of, total_variation
from generate.guided_mutants import DropsIllegalDrafts, FirstMaskForAll, SharedMatcher, Unguided, UnmaskedBonusRow
from guided import END, TOKENS, Words, finite, legal_after, llguidance_step, masked_text_law
from known_laws import Scenario, TableDrafter, random_table
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.none import NoDrafter
from truedraw.errors import BadParameter
from truedraw.registry import find
from truedraw.testing.runs import PROMPT, rounds_of_one, run

ROUNDING = 1e-12
VISIBLE = 1e-3
CHOICES = [(0, 0, END), (0, 1, END), (0, 1, 2, 2, END), (1, END), (1, 2, 0, END), (2, 2, 2, END)]
STRETCHES = [(0, 1, 2, 0, END), (0, 1, 2, 1, END), (2, 1, 0, END), (2, 1, 1, 2, END)]


def scenario(name: str, seed: int, words, **settings) -> Scenario:
    lengths = {"draft_tokens": 2, "max_tokens": 4, "params": {}}
    tables = random_table(4, 1, seed), random_table(4, 1, seed + 1)
    return Scenario(name, *tables, end_ids=(END,), masks=(finite(words),), **{**lengths, **settings})


SCENARIOS = [
    scenario("choices", 300, CHOICES),
    scenario("forced stretches", 302, STRETCHES),
    scenario("hot", 304, CHOICES, params={"temperature": 1.7}),
    scenario("the mask stands before top_k", 306, CHOICES, params={"top_k": 1}),
    scenario("the limit inside a forced stretch", 308, STRETCHES, max_tokens=2),
    scenario("long drafts", 310, STRETCHES, draft_tokens=3, max_tokens=5),
    scenario("one text", 312, [(1, 1, 0, 2, END)], max_tokens=6),
    scenario("an end at once", 314, [(END,), (0, END)]),
]


def definition(case: Scenario, prompt=PROMPT):
    return masked_text_law(case, prompt, lambda text: legal_after(case.masks[0], text, 4))


def enumerated(case: Scenario, drafter=None, verifier: str = "token", prompt=PROMPT):
    return law_of(lambda walker: run(case, walker, find("verifiers", verifier)(), drafter, prompt=prompt)[0])


@pytest.mark.parametrize("verifier", ["token", "traversal", "coupled"])
@pytest.mark.parametrize("drafter", [TableDrafter, Unguided], ids=["knows the grammar", "does not"])
@pytest.mark.parametrize("case", SCENARIOS, ids=str)
def test_the_law_with_a_draft_that_samples_is_the_masked_one(case: Scenario, drafter, verifier: str) -> None:
    law = enumerated(case, drafter(case.draft), verifier)
    assert total_variation(law, definition(case)) < ROUNDING


@pytest.mark.parametrize("verifier", ["token", "traversal", "coupled"])
@pytest.mark.parametrize("drafter", [NgramDrafter(1, 2), NoDrafter()], ids=["ngram", "none"])
@pytest.mark.parametrize("case", SCENARIOS, ids=str)
def test_the_law_with_certain_drafts_and_without_any_is_the_masked_one(case: Scenario, drafter, verifier) -> None:
    prompt = (0, 1, 2, 0, 1)
    assert total_variation(enumerated(case, drafter, verifier, prompt), definition(case, prompt)) < ROUNDING


@pytest.mark.parametrize("text", ["(a|b)c*(ab)?", "a(bca|c{1,3})", "(aabb|c)"])
def test_the_law_under_llguidance_is_that_of_a_matcher_without_a_history(text: str) -> None:
    for tokens, vocab in ((TOKENS, 4), ((b"a", b"b", b"c", b"<end>", b"ab", b"cc"), 6)):
        tables = random_table(vocab, 1, 320), random_table(vocab, 1, 321)
        mask = llguidance_step("regex", text, tokens)
        case = Scenario(text, *tables, draft_tokens=2, max_tokens=3, end_ids=(END,), masks=(mask,))
        expected = masked_text_law(case, PROMPT, lambda t, m=mask, v=vocab: legal_after(m, t, v))
        assert len(expected) > 1
        for drafter in (None, Unguided(case.draft), NgramDrafter(1, 2)):
            assert total_variation(enumerated(case, drafter), expected) < ROUNDING


@pytest.mark.parametrize("case", SCENARIOS, ids=str)
def test_the_mask_changes_the_law(case: Scenario) -> None:
    free = masked_text_law(case, PROMPT, lambda text: {0, 1, 2, 3})
    assert total_variation(definition(case), free) > 0.01


def under_rows(case: Scenario, rows):
    with patch("truedraw.generate.judging.LawRows", rows), np.errstate(divide="ignore"):
        return enumerated(case, Unguided(case.draft))


def with_shared_matcher(case: Scenario):
    def one(walker: Walker):
        words = case.masks[0].matcher.words
        fresh = replace(case, masks=(SharedMatcher("grammar", Words(words), frozenset({END})),))
        return run(fresh, walker, find("verifiers", "token")(), Unguided(case.draft))[0]

    return law_of(one)


MUTANTS = {
    "no mask on the bonus row": lambda case: under_rows(case, UnmaskedBonusRow),
    "the first mask for all rows": lambda case: under_rows(case, FirstMaskForAll),
    "illegal sampled drafts are dropped": lambda case: enumerated(case, DropsIllegalDrafts(case.draft)),
    "one matcher for all branches": with_shared_matcher,
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_known_bug_of_guided_generation_is_caught(mutant: str) -> None:
    assert any(caught(MUTANTS[mutant], case) for case in SCENARIOS[:3])


def caught(mutant, case: Scenario) -> bool:
    try:
        law = mutant(case)
    except (KeyReused, BadParameter):  # the second one: the text has left the grammar, and nothing can follow
        return True
    return total_variation(law, definition(case)) > VISIBLE


CHOICE_BEHIND = scenario(
    "choice behind", 330, [(1, 0, 0, 2, 0, END), (1, 0, 1, 1, END), (1, 0, 1, 2, END)], draft_tokens=2, max_tokens=6
)


def finished(case: Scenario, drafter=None):
    """All rounds of one sample on the first branch."""
    return [step[0] for step in rounds_of_one(case, Walker(), find("verifiers", "token")(), drafter)]


def test_forced_tokens_cost_one_pass_together_and_count_as_nobodys_drafts() -> None:
    (only,) = finished(scenario("one text", 312, [(1, 1, 0, 2, END)], draft_tokens=0, max_tokens=6), NoDrafter())
    assert only.tokens == (1, 1, 0, 2, END)
    assert only.origins == ("forced",) * 5
    assert (only.drafted, only.accepted, only.forced, only.finish_reason) == (0, 0, 5, "stop")
    assert only.sampling_logprobs == (0.0,) * 5


def test_the_drafter_goes_on_behind_forced_tokens() -> None:
    first = finished(CHOICE_BEHIND)[0]
    assert (first.drafted, first.forced) == (2, 2)
    assert first.origins[:2] == ("forced", "forced")
    assert first.accepted == sum(origin == "draft" for origin in first.origins)


def test_a_drafter_that_cannot_look_ahead_leaves_forced_rounds_alone() -> None:
    case = CHOICE_BEHIND
    done = finished(case, Blind(case.draft))
    assert any(r.forced for r in done)
    assert all(r.drafted == 0 for r in done if r.forced)
    assert total_variation(enumerated(case, Blind(case.draft)), definition(case)) < ROUNDING


class BlindState:
    """A draft state with no `ahead`."""

    def __init__(self, state) -> None:
        self.state, self.commit = state, state.commit


class Blind(TableDrafter):
    def open(self, tokens, law):
        return BlindState(super().open(tokens, law))

    def propose(self, states, budgets, randomness):
        return super().propose([each.state for each in states], budgets, randomness)
