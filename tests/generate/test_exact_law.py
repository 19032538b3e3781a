"""The production loop with every parameter of the law, enumerated: equal to the definition, no tolerance but 1e-12."""

from __future__ import annotations

import pytest

from enumeration import KeyReused, Walker, law_of, total_variation
from generate.law_mutants import MUTANTS, LawMutant
from generate.runs import run
from known_laws import Scenario, random_table
from law_definitions import text_law
from truedraw.draft.ngram import NgramDrafter
from truedraw.protocol import Purpose
from truedraw.registry import find

ROUNDING = 1e-12
VISIBLE = 1e-4
PROMPT = (0, 1, 0)
MIROSTAT = {"mirostat": 2, "mirostat_tau": 0.9, "mirostat_eta": 0.8}


def scenario(name: str, seed: int, params: dict, vocab: int = 3, **settings) -> Scenario:
    lengths = {"draft_tokens": 2, "max_tokens": 3}
    return Scenario(
        name, random_table(vocab, 1, seed), random_table(vocab, 1, seed + 1), params, **{**lengths, **settings}
    )


SCENARIOS = [
    scenario("repetition", 100, {"repetition_penalty": 1.7}),
    scenario("frequency and presence", 102, {"frequency_penalty": 0.8, "presence_penalty": -0.6}),
    scenario("all penalties, rewarding", 104, {"repetition_penalty": 0.5, "frequency_penalty": -0.4}, end_ids=(2,)),
    scenario("bigrams once", 106, {"no_repeat_ngram": 2}),
    scenario("trigrams once, warm", 108, {"no_repeat_ngram": 3, "temperature": 1.4}, max_tokens=4),
    scenario("bad words", 110, {"bad_words": [[2, 2], [0, 1, 0]]}),
    scenario("a late end", 112, {"min_tokens": 3}, end_ids=(1,), max_tokens=4),
    scenario("bias", 114, {"logit_bias": {0: -1.0, 2: 1.5}}),
    scenario("two allowed", 116, {"allowed_token_ids": [0, 2]}),
    scenario("choices left out", 118, {"xtc_probability": 0.4, "xtc_threshold": 0.2}),
    scenario("choices always left out", 120, {"xtc_probability": 1.0, "xtc_threshold": 0.25}, vocab=4),
    scenario("mirostat", 122, MIROSTAT),
    scenario("mirostat, penalised", 124, {**MIROSTAT, "temperature": 1.5, "presence_penalty": 0.7}),
    scenario("temperature by entropy", 126, {"dynatemp_range": 0.9, "dynatemp_exponent": 1.6}),
    scenario("cooling", 128, {"schedule": {"temperature": [[0, 2.0], [3, 0.4]]}}),
    scenario("narrowing", 130, {"schedule": {"top_p": [[1, 0.95], [3, 0.5]], "temperature": [[0, 1], [2, 0]]}}),
    scenario("cutoffs", 132, {"epsilon_cutoff": 0.1, "eta_cutoff": 0.3}, vocab=4),
    scenario("within a deviation", 134, {"top_n_sigma": 1.0}, vocab=4),
    scenario("temperature last", 136, {"sampler_order": "llama.cpp", "temperature": 0.5, "top_p": 0.8, "min_p": 0.1}),
    scenario("an order of its own", 138, {"sampler_order": ["top_p", "top_k", "temperature", "min_p"], "top_k": 3,
                                          "top_p": 0.9, "min_p": 0.3, "temperature": 2.0}, vocab=4),
    scenario("much together", 140, {"repetition_penalty": 1.3, "no_repeat_ngram": 3, "bad_words": [[2, 2]],
                                    "min_tokens": 1, "xtc_probability": 0.3, "xtc_threshold": 0.3, "top_p": 0.97,
                                    "logit_bias": {1: 0.4}, "min_p": 0.05}, end_ids=(2,)),
    scenario("a short text", 144, {"xtc_probability": 0.4, "xtc_threshold": 0.2}, draft_tokens=1, max_tokens=2),
    scenario("only the likely", 146, {"min_p": 0.4}),
    scenario("a long draft", 142, {"frequency_penalty": 1.1, **MIROSTAT}, vocab=2, draft_tokens=3, max_tokens=5),
]  # fmt: skip


@pytest.mark.parametrize("verifier", ["token", "coupled", "block"])
@pytest.mark.parametrize("case", SCENARIOS, ids=str)
def test_the_law_with_a_draft_that_samples_is_the_definition(case: Scenario, verifier: str) -> None:
    rule = find("verifiers", verifier)()
    law = law_of(lambda walker: run(case, walker, rule, prompt=PROMPT)[0])
    assert total_variation(law, text_law(case, PROMPT)) < ROUNDING


@pytest.mark.parametrize("verifier", ["token", "coupled"])
@pytest.mark.parametrize("case", SCENARIOS, ids=str)
def test_the_law_with_certain_drafts_is_the_definition(case: Scenario, verifier: str) -> None:
    rule = find("verifiers", verifier)()
    law = law_of(lambda walker: run(case, walker, rule, NgramDrafter(1, 2), prompt=PROMPT)[0])
    assert total_variation(law, text_law(case, PROMPT)) < ROUNDING


@pytest.mark.parametrize("case", SCENARIOS, ids=str)
def test_the_parameters_change_the_law(case: Scenario) -> None:
    """Otherwise the tests above would prove nothing of them."""
    free = Scenario("free", case.target, case.draft, {}, case.draft_tokens, case.max_tokens, case.end_ids)
    assert total_variation(text_law(case, PROMPT), text_law(free, PROMPT)) > 0.01


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_every_known_bug_of_a_law_is_caught(mutant: LawMutant) -> None:
    case = next(case for case in SCENARIOS if case.name == mutant.caught_in)
    assert caught(mutant, case)


def caught(mutant: LawMutant, case: Scenario) -> bool:
    try:
        law = law_of(lambda walker: mutant.run(case, walker, PROMPT))
    except KeyReused:
        return True
    return total_variation(law, text_law(case, PROMPT)) > VISIBLE


def test_a_coin_of_the_law_may_be_looked_at_twice_and_nothing_else_may() -> None:
    draw = Walker().sample(0)
    assert draw.accept(0.3, 1.0, Purpose.XTC, 5) == draw.accept(0.3, 1.0, Purpose.XTC, 5)
    with pytest.raises(KeyReused):
        draw.accept(0.4, 1.0, Purpose.XTC, 5)
    draw.accept(0.3, 1.0, Purpose.ACCEPT, 5)
    with pytest.raises(KeyReused):
        draw.accept(0.3, 1.0, Purpose.ACCEPT, 5)
