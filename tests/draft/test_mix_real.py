"""Several sources beside the default model: equal texts with a seed, and drafts that are kept."""

from __future__ import annotations

import pytest

from truedraw import Model, load

pytestmark = pytest.mark.model

PROMPTS = (
    "The cat sat on the mat. The dog sat on the mat. The cat ran to the door. The dog ran to the",
    'Repeat this exactly, twice: "Of the sea I sing, of the sea I sing, and nothing else I bring."',
)
MIXES = {
    "certain": ["suffix", "ngram", "recycle"],
    "a law and certain branches": ["ngram-lm", {"method": "suffix", "suffix_decoding_tree": True}, "recycle"],
}


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


@pytest.mark.parametrize("sources", MIXES.values(), ids=MIXES)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_seed_gives_one_text_with_a_mix(model: Model, sources, temperature: float) -> None:
    spec, accepted = {"method": "mix", "sources": sources, "adaptive": False}, 0
    for prompt in PROMPTS[: 2 if temperature else 1]:
        settings = {"seed": 5, "n": 2, "max_tokens": 30, "ignore_eos": True, "temperature": temperature}
        plain = model.generate(prompt, speculative=False, **settings)
        mixed = model.generate(prompt, speculative=spec, **settings)
        assert [c.tokens for c in mixed.choices] == [c.tokens for c in plain.choices]
        assert mixed.fallback is None
        accepted += mixed.stats.accepted
    assert accepted > 0


@pytest.mark.parametrize("sources", MIXES.values(), ids=MIXES)
def test_a_mix_drafts_under_the_rule_that_weighs_laws(model: Model, sources) -> None:
    spec = {"method": "mix", "sources": sources, "adaptive": False}
    result = model.generate(PROMPTS[0], speculative=spec, n=2, max_tokens=40, ignore_eos=True, temperature=0.8)
    assert result.fallback is None
    assert result.stats.accepted > 0
