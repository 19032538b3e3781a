"""The likeliest tokens beside each emitted one, on the real model: those of float64, whatever is drafted."""

from __future__ import annotations

import numpy as np
import pytest

from generate.real_model import REPETITIVE
from truedraw import Model, load
from truedraw.protocol import Proposal, Work

pytestmark = pytest.mark.model

LAWS = ({"temperature": 0.7, "top_p": 0.9}, {"temperature": 1.0}, {"temperature": 0.0, "repetition_penalty": 1.1})
DRAFTS = (
    None,
    {"method": "ngram", "prompt_lookup_min": 1, "adaptive": False},
    {"method": "suffix", "suffix_decoding_tree": True, "adaptive": False},
    {"method": "head", "adaptive": False},
)


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


def check(model: Model, prompt_tokens, choice, count: int) -> None:
    """Against the logits of the whole text, scored as one chain, by float64 and a full sort."""
    sequence = model.engine.open(prompt_tokens)
    logits = model.engine.forward([Work(sequence, Proposal.chain(choice.tokens[:-1]))])[0].logits.astype(np.float64)
    sequence.close()
    logs = logits - logits.max(1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(1, keepdims=True))
    for row, token, logprob, top in zip(logs, choice.tokens, choice.logprobs, choice.top_logprobs, strict=True):
        order = np.argsort(-row, kind="stable")[:count]
        assert [each for each, _ in top] == order.tolist()
        assert [log for _, log in top] == pytest.approx(row[order].tolist(), abs=1e-9)
        assert dict(top).get(token, logprob) == logprob == pytest.approx(row[token], abs=1e-9)


def told(choice) -> tuple:
    return choice.tokens, choice.logprobs, choice.top_logprobs


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_they_are_the_models_and_the_same_whatever_is_drafted(model: Model, law) -> None:
    settings = {"seed": 3, "max_tokens": 24, "ignore_eos": True, "logprobs": 20, **law}
    plain = model.generate(REPETITIVE, speculative=False, **settings)
    check(model, plain.prompt_tokens, plain.choices[0], 20)
    accepted = 0
    for spec in DRAFTS:
        fast = model.generate(REPETITIVE, speculative=spec, **settings)
        assert told(fast.choices[0]) == told(plain.choices[0])
        accepted += fast.stats.accepted
    assert accepted > 0


def test_in_a_ragged_batch_with_rows_from_the_cache(model: Model) -> None:
    cold = {"temperature": 0.3, "ignore_eos": True}
    wanted = [(REPETITIVE[: 12 + 20 * (i % 3)], {"seed": i // 3, "max_tokens": 6 + i, "logprobs": i, **cold})
              for i in range(6)]  # fmt: skip
    wanted += [(prompt, {**settings, "n": 2, "logprobs": 5}) for prompt, settings in wanted[:2]]
    with model.batch(max_running=3, logits_cache_bytes=64 << 20) as batch:
        runs = [batch.add(prompt, **settings) for prompt, settings in wanted]
        for _ in batch.completed():
            pass
        assert batch.logits_cache_use.hits > 0
    for run, (prompt, settings) in zip(runs, wanted, strict=True):
        alone = model.generate(prompt, speculative=False, **settings)
        assert [told(choice) for choice in run.result().choices] == [told(choice) for choice in alone.choices]


def test_tokens_that_a_grammar_forces_have_them(model: Model) -> None:
    schema = {"type": "object", "properties": {"colour": {"enum": ["grün", "青い"]}}, "required": ["colour"],
              "additionalProperties": False, "x-guidance": {"whitespace_flexible": False}}  # fmt: skip
    settings = {"seed": 1, "max_tokens": 24, "json_schema": schema, "logprobs": 4}
    plain = model.generate("A colour as JSON:", speculative=False, **settings)
    fast = model.generate("A colour as JSON:", **settings)
    assert "forced" in plain.choices[0].origins
    assert told(fast.choices[0]) == told(plain.choices[0])
    check(model, plain.prompt_tokens, plain.choices[0], 4)


def test_half_a_character_of_the_real_vocabulary(model: Model) -> None:
    result = model.generate("Emoji: 👩‍👩‍👧 🏳️‍🌈 👍🏽 🎉 👩‍", seed=1, max_tokens=12, ignore_eos=True, logprobs=20)
    found = [each for top in result.choices[0].to_dict()["top_logprobs"] for each in top]
    assert any("bytes" in each for each in found)
    for each in found:
        data = bytes(each["bytes"]) if "bytes" in each else each["text"].encode()
        assert data == model.tokenizer.token_bytes(each["token_id"])
