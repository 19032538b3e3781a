"""Parameters drawn at random, together and in any order, over chains, lookups and trees: the law is the definition."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from enumeration import law_of, total_variation
from guided import END, finite, legal_after
from known_laws import Scenario, TableDrafter, random_table
from law_definitions import text_law
from truedraw.draft.ngram import NgramDrafter
from truedraw.protocol import ROOT, Drafter
from truedraw.registry import find
from truedraw.testing.runs import run
from truedraw.testing.trees import Shape, TreeDrafter

ROUNDING = 1e-12
PROMPT = (0, 1, 0)
WORDS = [(0, 0, END), (0, 1, END), (0, 1, 2, 2, END), (1, END), (1, 2, 0, END), (2, 2, 2, END), (1, 0, 1, END),
         (2, 0, END), (2, 1, 0, 1, END)]  # fmt: skip
ORDERED = ["temperature", "top_n_sigma", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "xtc"]
TEXT = [
    {"repetition_penalty": 0.6},
    {"repetition_penalty": 1.6},
    {"presence_penalty": -0.7, "frequency_penalty": 0.9},
    {"frequency_penalty": -0.4},
    {"logit_bias": {0: -0.8, 2: 1.1}},
    {"min_tokens": 2},
]
HEAT = [
    {"temperature": 0.6},
    {"temperature": 1.4},
    {"schedule": {"temperature": [[0, 1.9], [2, 0.5]]}},
    {"dynatemp_range": 0.5, "dynatemp_exponent": 1.3},
]
CUTS = [
    {"top_k": 2},
    {"top_p": 0.85},
    {"min_p": 0.15},
    {"typical_p": 0.8},
    {"epsilon_cutoff": 0.1},
    {"eta_cutoff": 0.3},
    {"top_n_sigma": 1.1},
]
XTC = {"xtc_probability": 0.4, "xtc_threshold": 0.2}
BAN = {"bad_words": [[2, 2]]}
PAIR = Shape("a pair", ((ROOT, "w"), (ROOT, "w")))
MIXED = Shape("a sample and a certain sibling", ((ROOT, "q"), (ROOT, "t")))
DRAFTERS: dict[str, Callable[[Scenario], Drafter]] = {
    "a chain": lambda case: TableDrafter(case.draft),
    "lookup": lambda case: NgramDrafter(1, 2),
    "a pair": lambda case: TreeDrafter(case.draft, PAIR),
    "a sample and a certain sibling": lambda case: TreeDrafter(case.draft, MIXED),
}
SEEDS = range(14)


def parameters(seed: int) -> dict[str, Any]:
    """Two that look at the text, one of heat, and two truncations, XTC or mirostat; in an order of their own."""
    chance = random.Random(seed)
    chosen = [*chance.sample(TEXT, 2), chance.choice(HEAT), *([BAN] if seed % 3 == 0 else [])]
    if seed % 2:
        chosen.append({"mirostat": 2, "mirostat_tau": chance.choice([0.8, 1.1]), "mirostat_eta": 0.7})
    else:
        chosen += [CUTS[seed // 2 % len(CUTS)], chance.choice(CUTS), *([XTC] if seed % 4 == 0 else [])]
    order = chance.choice(["huggingface", "vllm", "llama.cpp", [*chance.sample(ORDERED, len(ORDERED)), "mirostat"]])
    return {"sampler_order": order, **{name: value for each in chosen for name, value in each.items()}}


def scenario(seed: int, guided: bool) -> Scenario:
    vocab, settings = (4, {"end_ids": (END,), "masks": (finite(WORDS),)}) if guided else (3, {"end_ids": (1,)})
    tables = random_table(vocab, 1, 500 + seed), random_table(vocab, 1, 600 + seed)
    return Scenario(f"{seed}", *tables, parameters(seed), draft_tokens=2, max_tokens=3, **settings)


def expected(case: Scenario) -> Mapping[tuple[int, ...], float]:
    masks = case.masks
    return text_law(case, PROMPT, (lambda text: legal_after(masks[0], text, 4)) if masks else None)


@pytest.mark.parametrize("guided", [False, True], ids=["free", "guided"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_law_is_the_definition(seed: int, guided: bool) -> None:
    case = scenario(seed, guided)
    wanted = expected(case)
    for name, drafter in DRAFTERS.items():
        for verifier in ("traversal", "recursive"):
            rule = find("verifiers", verifier)()
            law = law_of(lambda walker, make=drafter, rule=rule: run(case, walker, rule, make(case), prompt=PROMPT)[0])
            assert total_variation(law, wanted) < ROUNDING, (name, verifier, case.params)


def test_the_draws_cover_every_parameter() -> None:
    seen = {name for seed in SEEDS for name in parameters(seed)}
    assert seen >= {name for each in [*TEXT, *HEAT, *CUTS, XTC, BAN] for name in each} | {"mirostat"}
    assert sum(isinstance(parameters(seed)["sampler_order"], list) for seed in SEEDS) > 1


def test_they_change_the_law() -> None:
    for seed in SEEDS:
        case = scenario(seed, False)
        assert total_variation(expected(case), expected(replace(case, params={}))) > 0.01
