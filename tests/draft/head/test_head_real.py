"""The real model with a head that was never trained: one text a seed with it and without, alone and in a batch."""

from __future__ import annotations

import pytest

from draft.head.random_heads import card, write
from generate.real_model import PROMPTS, REPETITIVE
from truedraw import Model, load
from truedraw.engine.constants.matrix import Matrix
from truedraw.models import open_checkpoint
from truedraw.text import Tokenizer

pytestmark = pytest.mark.model
NAME, LAYERS = "smollm2-135m", (8, 15, 22, 26)
SETTINGS = {"n": 2, "max_tokens": 30, "ignore_eos": True, "temperature": 0.8}
ALONE = {"method": "head", "adaptive": False}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Model:
    checkpoint = open_checkpoint(NAME)
    config = checkpoint.config
    said = card(target=NAME, tokenizer=Tokenizer.of(checkpoint).fingerprint, vocab_size=config.vocab_size,
                width=config.hidden_size, layers=LAYERS, tokens=8192)  # fmt: skip
    path = write(tmp_path_factory.mktemp("heads") / "random.safetensors", said, inner=256)
    with load(NAME, draft=path) as loaded:
        yield loaded


def tokens(result) -> list:
    return [choice.tokens for choice in result.choices]


@pytest.mark.parametrize("law", [{}, {"top_p": 0.9, "repetition_penalty": 1.2}], ids=str)
def test_a_seed_gives_one_text(model: Model, law) -> None:
    settings = {**SETTINGS, **law, "seed": 3}
    plain = model.generate(REPETITIVE, speculative=False, **settings)
    fast = model.generate(REPETITIVE, speculative=ALONE, **settings)
    assert tokens(fast) == tokens(plain)
    assert fast.fallback is None
    assert fast.stats.drafted > 100


@pytest.mark.slow
def test_in_a_batch_of_five_too(model: Model) -> None:
    prompts = PROMPTS[:25:5]
    plain = [model.generate(prompt, seed=seed, speculative=False, **SETTINGS) for seed, prompt in enumerate(prompts)]
    with model.batch() as batch:
        runs = [batch.add(prompt, seed=seed, speculative=ALONE, **SETTINGS) for seed, prompt in enumerate(prompts)]
        while batch.step():
            pass
    results = [run.result() for run in runs]
    assert [tokens(result) for result in results] == [tokens(result) for result in plain]
    assert all(result.fallback is None and result.stats.drafted > 100 for result in results)


def test_without_a_seed_nothing_it_says_is_illegal(model: Model) -> None:
    for rule in ("traversal", "recursive", "block"):
        result = model.generate(REPETITIVE, speculative={**ALONE, "rejection_sample_method": rule}, **SETTINGS)
        assert result.fallback is None
        assert result.stats.drafted > 100


def test_a_row_is_the_targets_own(model: Model) -> None:
    """The head reads the rows of the embedding as the target holds them."""
    assert isinstance(model.engine.embedding(), Matrix)
    cell = model.drafts.head(None).cell
    assert len(cell.tokens) == 8192
    assert model.engine.hidden_layers == LAYERS
