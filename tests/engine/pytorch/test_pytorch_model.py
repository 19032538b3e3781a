"""The default model, out of its GGUF file, on PyTorch: its laws, runs with and without drafts, the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.decoder import tv
from engine.prose import PROSE
from truedraw import Model, load
from truedraw.engine.cpu import CPUEngine
from truedraw.models import open_checkpoint
from truedraw.protocol import Proposal, Work

pytestmark = [pytest.mark.parity, pytest.mark.model]
pytest.importorskip("torch")
pytest.importorskip("transformers")

PROMPTS = (
    "List ten facts about the sea. Begin each line with the words: Fact about the sea.",
    "The cat sat on the mat. The dog sat on the mat. The cat ran to the door. The dog ran to the",
)


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m", engine="pytorch") as loaded:
        yield loaded


def test_the_laws_are_those_of_the_other_engine_in_float32(model: Model) -> None:
    ids = model.tokenizer.encode(PROSE)
    other = CPUEngine.load(open_checkpoint("smollm2-135m"), numerics="reference")
    works = [
        (ids[:200], Proposal.chain(ids[200:220])),
        (ids[300:310], Proposal.chain([])),
        (ids[:1], Proposal.chain([5])),
    ]
    one, two = (
        [scores.logits.copy() for scores in engine.forward([Work(engine.open(text), draft) for text, draft in works])]
        for engine in (model.engine, other)
    )
    other.close()
    for a, b in zip(one, two, strict=True):
        assert tv(a, b) < 1e-4
        assert np.abs(a - b).max() < 1e-2


@pytest.mark.parametrize(("method", "temperature"), [("auto", 0.8), ("suffix", 0.8), ("ngram", 0.0)])
def test_a_seed_gives_one_text_whatever_is_drafted(model: Model, method: str, temperature: float) -> None:
    accepted = 0
    for prompt in PROMPTS:
        settings = {"seed": 3, "n": 2, "max_tokens": 16, "ignore_eos": True, "temperature": temperature}
        plain = model.generate(prompt, speculative=False, **settings)
        fast = model.generate(prompt, speculative={"method": method, "num_speculative_tokens": 4}, **settings)
        assert [choice.tokens for choice in fast.choices] == [choice.tokens for choice in plain.choices]
        for one, other in zip(fast.choices, plain.choices, strict=True):
            np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-3)
        accepted += fast.stats.accepted
    assert accepted > 0


def test_it_says_what_it_computes_with(model: Model) -> None:
    assert model.engine.numerics == "reference"
    assert model.engine.invariance is None
    assert model.engine.context_length == 8192


def test_the_command_line_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    from truedraw.cli.main import run

    given = ["--engine", "pytorch", "--max-tokens", "8", "--seed", "1", "--json"]
    assert run(["generate", "Once upon a time", *given]) == 0
    assert json.loads(capsys.readouterr().out)["choices"][0]["text"]
