"""What can be a prompt, and what a model is opened with."""

import numpy as np
import pytest

from truedraw import load
from truedraw.errors import BadPrompt
from truedraw.generate import loading as models


@pytest.fixture(scope="module")
def model():
    with load("tabular") as loaded:
        yield loaded


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (3.5, r"the prompt is 3\.5; give a text, or a list of token ids"),
        (None, "the prompt is None"),
        (b"the", "the prompt is b'the'"),
        (bytearray(b"the"), "the prompt is bytearray"),
        (memoryview(b"the"), "the prompt is <memory at"),
        ({"prompt": "the"}, "the prompt is {'prompt'"),
        ([True], "holds True; give text, or token ids from 0 to 5"),
        ([1.5], r"holds 1\.5"),
        (["the"], r"holds 'the'.*; several prompts are for batch\(\) or generate_many\(\)$"),
        ([[0, 1], [2]], r"holds \[0, 1\].*; several prompts are for"),
        ([{"role": "user", "content": "the"}], "holds .*; messages of a conversation become ids by chat_prompt$"),
        ([6], "holds 6"),
        ([0, -1], "holds -1"),
        ("", "empty"),
        ([], "empty"),
    ],
)
def test_what_is_no_prompt(model, prompt, words):
    with pytest.raises(BadPrompt, match=words):
        model.generate(prompt, max_tokens=1)


@pytest.mark.parametrize("prompt", [(0, 1), np.array([0, 1]), iter([0, 1])])
def test_ids_of_any_kind(model, prompt):
    assert model.generate(prompt, max_tokens=1).prompt_tokens == (0, 1)


def test_both_models_of_a_contrast_are_opened_alike(monkeypatch):
    opened, open_model = {}, models.open_model

    def recorded(name, **options):
        opened[name] = options
        return open_model("tabular")

    monkeypatch.setattr(models, "open_model", recorded)
    load("expert", amateur="amateur", cache_bytes=1 << 20, engine="openvino").close()
    assert opened["expert"] == {**opened["amateur"], "draft": "none"}  # no head reads two models
    assert opened["amateur"]["cache_bytes"] == 1 << 20
