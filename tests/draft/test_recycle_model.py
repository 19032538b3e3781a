"""The real model with drafts made of what it said before: one text a seed, and tokens that were guessed."""

from __future__ import annotations

import pytest

from generate.real_model import PROMPTS, REPETITIVE
from truedraw import Model, load

pytestmark = pytest.mark.model

CONFIGS = {
    "recycled tree": {"method": "recycle"},
    "recycled chain": {"method": "recycle", "recycle_tree": False},
    "lookahead": {"method": "lookahead"},
    "lookahead, chain": {"method": "lookahead", "lookahead_tree": False},
}


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_seed_gives_one_text_and_guesses_come_true(model: Model, kind: str) -> None:
    settings = {"seed": 3, "n": 2, "max_tokens": 80, "ignore_eos": True, "temperature": 0.7}
    for prompt in (REPETITIVE, PROMPTS[3]):
        plain = model.generate(prompt, speculative=False, **settings)
        fast = model.generate(prompt, speculative={**CONFIGS[kind], "adaptive": False}, **settings)
        assert [choice.tokens for choice in fast.choices] == [choice.tokens for choice in plain.choices]
        assert fast.fallback is None
        assert fast.stats.accepted > 5
