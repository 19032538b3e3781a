"""Drafters beside the default model: one with other words, and one that is drafted for itself."""

from __future__ import annotations

import pytest

from generate.other_vocabulary import fewer_words
from generate.test_speculation_real import PROMPTS, first_layers
from truedraw import Model, load

pytestmark = pytest.mark.model

TOKENS = 24


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


@pytest.fixture(scope="module")
def others(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("others")
    return {
        "words": str(fewer_words(folder / "words", merges=20_000, layers=30)),
        "layers": str(first_layers(folder / "layers", 10)),
    }


METHODS = [
    {"method": "tli", "model": "words"},
    {"method": "string-match", "model": "words"},
    {"method": "staged", "model": "layers", "stage": "ngram"},
    {"method": "staged", "model": "layers", "stage": {"method": "tli", "model": "words"}, "staged_passes": 2},
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_seed_gives_one_text_and_drafts_are_kept(model: Model, others, method) -> None:
    spec = named(method, others) | {"num_speculative_tokens": 4, "adaptive": False}
    accepted = 0
    for prompt, temperature in zip(PROMPTS, (0.0, 0.8), strict=True):
        settings = {"n": 2, "max_tokens": TOKENS, "ignore_eos": True, "temperature": temperature}
        plain = model.generate(prompt, speculative=False, seed=3, **settings)
        fast = model.generate(prompt, speculative=spec, seed=3, **settings)
        assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
        free = model.generate(prompt, speculative=spec, **settings)
        assert fast.fallback is None
        assert free.fallback is None
        accepted += fast.stats.accepted + free.stats.accepted  # in a run without a seed now and then none
    assert accepted > 0


def named(config, others) -> dict:
    """The config with the folders of its models."""
    return {key: named(value, others) if isinstance(value, dict) else others.get(value, value)
            for key, value in config.items()}  # fmt: skip
