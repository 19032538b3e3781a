"""Texts that no token may follow: the law of "text or error" is plain sampling's under every rule, on every branch."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from enumeration import Walker, total_variation
from generate.stuck_cases import (
    BEHIND_PAIR,
    DEEP_TREE,
    DRAFTERS,
    NEVER_STUCK,
    PROMPT,
    STUCK_SOMETIMES,
    TREE,
    Breaks,
    Unaware,
    enumerated,
    scenario,
    stuck,
)
from generate.stuck_mutants import MUTANTS
from guided import END, Words, finite, legal_after, masked_text_law
from known_laws import Scenario, TableDrafter
from law_definitions import text_law
from truedraw import load
from truedraw.draft.none import NoDrafter
from truedraw.errors import BadInput, BadParameter
from truedraw.registry import find, names
from truedraw.sampling.grammar import Grammar
from truedraw.testing.runs import rounds_of_one
from truedraw.testing.trees import SHAPES, TreeDrafter
from truedraw.verify.lossy.lenient import LenientVerifier
from truedraw.verify.lossy.skip import SkipVerifier
from truedraw.verify.lossy.typical import TypicalVerifier

ROUNDING = 1e-12
VISIBLE = 1e-3
EXACT = [name for name in names("verifiers") if find("verifiers", name).exact]
LOSSY = [TypicalVerifier(), LenientVerifier(1.5), SkipVerifier(0.3, 0.5)]
EXACT_AND_LOSSY = [*(find("verifiers", name)() for name in EXACT), *LOSSY]


@pytest.mark.parametrize("rule", EXACT)
@pytest.mark.parametrize("kind", DRAFTERS)
@pytest.mark.parametrize("case", STUCK_SOMETIMES, ids=str)
def test_the_law_of_text_or_error_is_the_definition(case: Scenario, kind: str, rule: str) -> None:
    prompt = (1, 0, 1) if kind == "lookup" and case.name not in ("tokens once", "bigrams once") else PROMPT
    expected = text_law(case, prompt)
    found = enumerated(case, find("verifiers", rule)(), DRAFTERS[kind](case), prompt)
    assert total_variation(found, expected) < ROUNDING


@pytest.mark.parametrize("case", STUCK_SOMETIMES, ids=str)
def test_plain_sampling_has_that_law_and_is_stuck_sometimes(case: Scenario) -> None:
    plain = enumerated(case, find("verifiers", "token")(), NoDrafter())
    assert total_variation(plain, text_law(case, PROMPT)) < ROUNDING
    assert 0.01 < stuck(plain) <= 1


@pytest.mark.parametrize("rule", EXACT_AND_LOSSY, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("kind", DRAFTERS)
@pytest.mark.parametrize(("case", "ending"), NEVER_STUCK, ids=["an end token", "a stop string"])
def test_what_stands_behind_the_end_of_a_text_raises_nothing(case: Scenario, ending, kind: str, rule) -> None:
    law = enumerated(case, rule, DRAFTERS[kind](case), ending=ending)
    assert stuck(law) == 0
    if rule.exact:
        plain = enumerated(case, find("verifiers", "token")(), NoDrafter(), ending=ending)
        assert total_variation(law, plain) < ROUNDING


@pytest.mark.parametrize("rule", LOSSY, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("kind", DRAFTERS)
@pytest.mark.parametrize("case", STUCK_SOMETIMES[:3], ids=str)
def test_a_lossy_rule_is_stuck_where_plain_sampling_can_be(case: Scenario, kind: str, rule) -> None:
    assert enumerated(case, rule, DRAFTERS[kind](case)).keys() <= text_law(case, PROMPT).keys()


@pytest.mark.parametrize("rule", EXACT)
@pytest.mark.parametrize("known", [True, False], ids=["ends early", "unaware"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("case", [TREE, DEEP_TREE], ids=str)
def test_the_law_with_trees_is_the_definition(case: Scenario, shape, known: bool, rule: str) -> None:
    drafter = TreeDrafter(case.draft, shape)
    try:
        found = enumerated(case, find("verifiers", rule)(), drafter if known else Unaware(drafter))
    except BadInput:
        pytest.skip("the rule says that it does not take this shape")
    assert total_variation(found, text_law(case, PROMPT)) < ROUNDING


DEAD_ENDS = ((0, 1, 2), (0, 2, 2, END), (1, END), (2, 1, 1))


@pytest.mark.parametrize("rule", EXACT)
@pytest.mark.parametrize("matcher", [Words, Breaks])
@pytest.mark.parametrize("length", [4, 3])
def test_a_grammar_that_gets_stuck(rule: str, matcher, length: int) -> None:
    """Forced tokens lead there, and the text may end before: then nothing is wrong."""
    mask = Grammar("grammar", matcher(DEAD_ENDS), frozenset({END}))
    case = scenario("dead ends", 30, {}, vocab=4, max_tokens=length, end_ids=(END,), masks=(mask,))
    expected = masked_text_law(case, PROMPT, lambda text: legal_after(finite(DEAD_ENDS), text, 4))
    assert (stuck(expected) > 0) == (length > 3)
    for drafter in (TableDrafter(case.draft), Unaware(TableDrafter(case.draft)), NoDrafter()):
        assert total_variation(enumerated(case, find("verifiers", rule)(), drafter), expected) < ROUNDING


def test_a_round_before_an_error_holds_drafts_only() -> None:
    """Nothing is drawn behind the draft that leads nowhere, and the error comes with the next round."""
    case = Scenario("", {(): [1, 0, 0]}, {(): [1, 0, 0]}, {"bad_words": BEHIND_PAIR}, draft_tokens=3)
    seen = []
    rounds = rounds_of_one(
        case,
        Walker(),
        find("verifiers", "token")(),
        Unaware(TableDrafter(case.draft)),
        lambda *each: seen.append(each[-1]),
    )
    (first,) = next(rounds)
    assert first.tokens == (0, 0)
    assert first.origins == ("draft", "draft")
    assert (first.drafted, first.accepted, first.finish_reason) == (3, 2, None)
    assert (seen[0].tokens, seen[0].num_accepted, seen[0].rejected) == ((0, 0), 2, False)
    assert first.sampling_logprobs == (0.0, 0.0)
    with pytest.raises(BadParameter, match="no token may follow"):
        next(rounds)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_known_bug_of_what_leads_nowhere_is_caught(mutant: str) -> None:
    def caught(case: Scenario, rule: str) -> bool:
        found = enumerated(case, find("verifiers", rule)(), Unaware(TableDrafter(case.draft)))
        return total_variation(found, text_law(case, PROMPT)) > VISIBLE

    with patch("truedraw.generate.judging.LawRows", MUTANTS[mutant]), np.errstate(divide="ignore"):
        assert any(caught(case, rule) for case in STUCK_SOMETIMES[:3] for rule in ("token", "block"))


@pytest.fixture(scope="module")
def model():
    return load("tabular")


SPECULATIVE = {
    "auto": {},
    "suffix": {"method": "suffix", "adaptive": False, "num_speculative_tokens": 6},
    "ngram": {"method": "ngram", "adaptive": False, "num_speculative_tokens": 4, "prompt_lookup_min": 1},
    "model": {"method": "model", "model": "tabular", "adaptive": False, "num_speculative_tokens": 4},
}


@pytest.mark.parametrize("stop", ["sat ran", "ran dog"])
def test_a_seed_ends_alike_with_and_without_speculation(model, stop: str) -> None:
    plain = [ended(model, seed, stop, False) for seed in range(60)]
    assert len({kind for kind, *_ in plain}) == 2
    for config in SPECULATIVE.values():
        assert [ended(model, seed, stop, config) for seed in range(60)] == plain


def ended(model, seed: int, stop: str, speculative):
    params = {"no_repeat_ngram": 3, "max_tokens": 30, "ignore_eos": True, "stop": [stop], "seed": seed}
    try:
        choice = model.generate("the cat sat ran dog sat ran", speculative=speculative, **params).choices[0]
    except BadParameter as error:
        return "error", str(error)
    return "text", choice.text, choice.finish_reason
