"""The real model under the whole sampling law: one text a seed, with any speculation, and every parameter obeyed."""

from __future__ import annotations

import pytest

from generate.real_model import PROMPTS
from truedraw import Model, load
from truedraw.errors import BadParameter

pytestmark = pytest.mark.model

LAWS = {
    "penalties": {"repetition_penalty": 1.15, "frequency_penalty": 0.3, "presence_penalty": 0.2, "temperature": 0.8},
    "bans": {"no_repeat_ngram": 4, "bad_words": ["the", "light house"], "min_tokens": 30, "temperature": 0.7},
    "xtc": {"xtc_probability": 0.5, "xtc_threshold": 0.1, "min_p": 0.02, "sampler_order": "llama.cpp"},
    "mirostat": {"mirostat": 2, "mirostat_tau": 3.0},
    "schedules": {"schedule": {"temperature": [[0, 1.2], [30, 0.5]], "top_p": [[0, 0.95], [30, 0.7]]}},
    "entropy": {"dynatemp_range": 0.4, "temperature": 0.8, "eta_cutoff": 1e-3, "top_n_sigma": 2.0},
}
TOKENS = 40


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


@pytest.mark.parametrize("name", LAWS)
def test_a_seed_gives_one_text_whatever_is_drafted(model: Model, name: str) -> None:
    settings = {"seed": 5, "max_tokens": TOKENS, "ignore_eos": True, "n": 2, **LAWS[name]}
    drafted = 0
    for prompt in PROMPTS[2:4]:
        plain = model.generate(prompt, speculative=False, **settings)
        spec = {"num_speculative_tokens": 5, "prompt_lookup_min": 1, "adaptive": False}
        fast = model.generate(prompt, speculative=spec, **settings)
        for ours, theirs in zip(fast.choices, plain.choices, strict=True):
            assert ours.tokens == theirs.tokens
            assert ours.sampling_logprobs == theirs.sampling_logprobs
        drafted += fast.stats.drafted
    assert drafted > 0


def test_the_bans_are_obeyed(model: Model) -> None:
    result = model.generate(PROMPTS[3], seed=1, n=4, max_tokens=80, **LAWS["bans"])
    prompt = tuple(model.tokenizer.encode(PROMPTS[3]))
    for choice in result.choices:
        assert len(choice.tokens) >= 30
        assert not {*model.tokenizer.encode(" the"), *model.tokenizer.encode("the")} & set(choice.tokens)
        text = (*prompt, *choice.tokens)
        grams = [text[i : i + 4] for i in range(len(text) - 3)]
        new = grams[len(prompt) - 3 :]
        assert len(set(new)) == len(new)
        assert set(new).isdisjoint(grams[: len(prompt) - 3])


def test_a_bad_id_is_refused_before_anything_is_computed(model: Model) -> None:
    with pytest.raises(BadParameter, match="logit_bias"):
        model.start("text", logit_bias={10**6: 1.0})
