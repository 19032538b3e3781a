"""A draft model beside the default one: its first ten layers, written as a folder of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from models.tiny_models import config_json
from truedraw import Model, load
from truedraw.models import open_checkpoint
from truedraw.models.layout import expected_shapes

pytestmark = pytest.mark.model

LAYERS = 10  # of 30
PROMPTS = (
    "List ten facts about the sea. Begin each line with the words: Fact about the sea.",
    "The cat sat on the mat. The dog sat on the mat. The cat ran to the door. The dog ran to the",
)


def first_layers(folder: Path, layers: int) -> Path:
    """The default model cut behind some layers, in half precision."""
    whole = open_checkpoint("smollm2-135m")
    assert whole.weights is not None
    config = replace(whole.config, num_layers=layers)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config_json(config)))
    tensors = {name: whole.weights.dense(name).astype(np.float16) for name in expected_shapes(config)}
    save_file(tensors, folder / "model.safetensors")
    whole.text.load_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def draft(tmp_path_factory) -> str:
    return str(first_layers(tmp_path_factory.mktemp("cut") / "first", LAYERS))


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_seed_gives_one_text_with_a_draft_model(model: Model, draft: str, temperature: float) -> None:
    accepted = 0
    for prompt in PROMPTS:
        settings = {"seed": 3, "n": 2, "max_tokens": 40, "ignore_eos": True, "temperature": temperature}
        plain = model.generate(prompt, speculative=False, **settings)
        for more in ({}, {"draft_siblings": 3, "draft_temperature": 0.5}):
            spec = {"model": draft, "num_speculative_tokens": 4, "adaptive": False, **more}
            fast = model.generate(prompt, speculative=spec, **settings)
            assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
            assert fast.fallback is None
            accepted += fast.stats.accepted
    assert accepted > 0
