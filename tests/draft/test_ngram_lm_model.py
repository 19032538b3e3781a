"""The real model with drafts from counts of its own texts, and with a predicted text: one text a seed, guesses kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from generate.real_model import PROMPTS, REPETITIVE
from truedraw import Model, load
from truedraw.draft.ngram_lm_counts import count_ngrams
from truedraw.draft.ngram_lm_file import Origin, write_counts

pytestmark = pytest.mark.model
SETTINGS = {"n": 2, "max_tokens": 40, "ignore_eos": True, "temperature": 0.7}
LAWS = {"plain": {}, "penalties": {"repetition_penalty": 1.2, "top_p": 0.9, "min_p": 0.02}}


@pytest.fixture(scope="module")
def model() -> Model:
    with load("smollm2-135m") as loaded:
        yield loaded


@pytest.fixture(scope="module")
def counts(model, tmp_path_factory) -> Path:
    """Of other samples of the same prompts."""
    found = [model.generate(prompt, seed=9, speculative=False, **SETTINGS) for prompt in (REPETITIVE, PROMPTS[3])]
    texts = [choice.tokens for result in found for choice in result.choices]
    path = tmp_path_factory.mktemp("counts") / "own.tdn"
    tokenizer = model.tokenizer
    write_counts(path, count_ngrams(texts, 5), Origin(model.name, tokenizer.fingerprint, tokenizer.vocab_size))
    return path


@pytest.mark.parametrize(("online", "law"), [("text", "plain"), ("prompt", "plain"), ("text", "penalties")])
def test_a_seed_gives_one_text_and_draws_are_kept(model: Model, counts: Path, online: str, law: str) -> None:
    config = {"method": "ngram-lm", "ngram_lm_path": counts, "ngram_lm_online": online, "adaptive": False}
    settings = {**SETTINGS, **LAWS[law]}
    for prompt in (REPETITIVE, PROMPTS[3]):
        plain = model.generate(prompt, seed=3, speculative=False, **settings)
        fast = model.generate(prompt, seed=3, speculative=config, **settings)
        assert [choice.tokens for choice in fast.choices] == [choice.tokens for choice in plain.choices]
        assert fast.fallback is None
        assert fast.stats.accepted > (5 if law == "plain" else 0)  # what is penalised is what counts are made of
    free = model.generate(REPETITIVE, speculative=config, **settings)
    assert free.fallback is None
    assert free.stats.accepted > 0 or law != "plain"


def test_what_was_predicted_is_written_sooner(model: Model) -> None:
    settings = {"seed": 4, "max_tokens": 50, "ignore_eos": True}
    plain = model.generate(PROMPTS[3], speculative=False, **settings)
    config = {"method": "prediction", "prediction": plain.text, "adaptive": False}
    fast = model.generate(PROMPTS[3], speculative=config, **settings)
    assert fast.choices[0].tokens == plain.choices[0].tokens
    assert fast.stats.rounds < plain.stats.rounds / 2
    other = model.generate(PROMPTS[3], speculative=config, **{**settings, "seed": 5})
    assert other.choices[0].tokens != plain.choices[0].tokens


def test_the_counts_that_come_with_the_model_are_used(model: Model) -> None:
    """More is kept on prose than without them, and a seed gives the same text."""
    kept = {}
    for path in (None, ""):
        config = {"method": "ngram-lm", "ngram_lm_path": path, "adaptive": False, "num_speculative_tokens": 3}
        runs = [model.generate(prompt, seed=3, speculative=config, **SETTINGS) for prompt in PROMPTS[:20:5]]
        kept[path] = sum(run.stats.accepted for run in runs), [choice.tokens for run in runs for choice in run.choices]
    assert kept[None][0] > 1.2 * kept[""][0]
    assert kept[None][1] == kept[""][1]


@pytest.mark.slow
def test_the_default_drafts_with_them(model: Model) -> None:
    """On machines where that does not pay, it looks now and then whether it does by now."""
    run = model.start(PROMPTS[0], seed=3, **{**SETTINGS, "max_tokens": 700})
    sources = {each.source for step in run for each in step}
    assert {"ngram-lm", "head-ngram"} & sources
    run = model.start(PROMPTS[0], seed=3, speculative={"auto_sources": ["suffix"]}, **SETTINGS)
    assert not {"ngram-lm", "head-ngram"} & {each.source for step in run for each in step}
