"""Whole runs of a model with a head and counts in one q: one text a seed, what runs share, and its settings."""

from __future__ import annotations

import pytest

from draft.head.random_heads import card, write
from generate.one_text import CONFIG, LAWS, PROMPTS, check_one_text, in_a_batch, likely, one_by_one, tokens
from models.tiny_models import write_folder
from truedraw import Model, load
from truedraw.draft.head_ngram_weights import FIRST
from truedraw.draft.ngram_lm_counts import count_ngrams
from truedraw.draft.ngram_lm_file import Origin, write_counts
from truedraw.errors import BadFile, BadParameter
from truedraw.generate.keys import meant
from truedraw.generate.speculation import speculation
from truedraw.models import open_checkpoint
from truedraw.text import Tokenizer

ALONE = {"method": "head-ngram", "adaptive": False}
SETTINGS = {"n": 2, "max_tokens": 40, "ignore_eos": True}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Model:
    root = tmp_path_factory.mktemp("heads")
    folder = write_folder(root / "tiny", CONFIG, likely())
    fingerprint = Tokenizer.of(open_checkpoint(folder)).fingerprint
    head = write(root / "tiny.safetensors", card(
        target="tiny", tokenizer=fingerprint, vocab_size=CONFIG.vocab_size, width=CONFIG.hidden_size, layers=(0, 1),
        tokens=200))  # fmt: skip
    with load(folder, cache=root / "cache", threads=1, draft=head) as loaded:
        yield loaded


@pytest.mark.parametrize("law", LAWS)
def test_a_seed_gives_one_text_with_it_and_without(model: Model, law: str) -> None:
    for prompt in PROMPTS[:2]:
        check_one_text(model, prompt, ALONE, seed=5, **SETTINGS, **LAWS[law])


def test_in_a_batch_and_among_the_sources_of_auto_too(model: Model) -> None:
    plain = one_by_one(model, **SETTINGS)
    for speculative in (ALONE, {"auto_sources": ["suffix", "head-ngram"]}):
        results = in_a_batch(model, [speculative] * 5, **SETTINGS)
        assert [tokens(result) for result in results] == plain


@pytest.mark.parametrize("rule", ["traversal", "recursive", "block", "token"])
@pytest.mark.parametrize("law", LAWS)
def test_without_a_seed_nothing_it_offers_is_illegal(model: Model, law, rule) -> None:
    result = model.generate(PROMPTS[1], speculative={**ALONE, "rejection_sample_method": rule}, **SETTINGS, **LAWS[law])
    assert result.fallback is None
    assert result.stats.drafted > 10


def test_runs_go_on_with_the_weights_that_others_learnt(model: Model) -> None:
    config = {**ALONE, "ngram_lm_order": 3}
    model.generate(PROMPTS[0], speculative=config, **SETTINGS)
    weights = model.drafts.blending(speculation(config).name)
    assert weights is model.drafts.blending(speculation(config).name)
    assert len(weights.now()) == len(FIRST)
    seen = [gains._places for gains in weights._gains]
    assert sum(seen) > 0
    model.generate(PROMPTS[0], speculative=config, **SETTINGS)
    assert sum(gains._places for gains in weights._gains) > sum(seen)


def test_what_it_needs_and_refuses(model: Model, tmp_path) -> None:
    foreign, nothing = tmp_path / "foreign.tdn", tmp_path / "none.tdn"
    write_counts(foreign, count_ngrams([[1, 2, 3, 1, 2]], 3), Origin("other", "other", CONFIG.vocab_size))
    cut = tmp_path / "cut.tdn"
    cut.write_bytes(foreign.read_bytes()[:-8])
    for settings, error, words in (
        ({"ngram_lm_path": str(foreign)}, BadParameter, "counts tokens of other"),
        ({"ngram_lm_path": str(nothing)}, BadFile, "cannot be read"),
        ({"ngram_lm_path": str(cut)}, BadFile, "cut"),
        ({"head_path": str(foreign)}, BadFile, "draft head"),
        ({"head_depth": -1}, BadParameter, "head_depth"),
        ({"ngram_lm_online": "some"}, BadParameter, "ngram_lm_online"),
        ({"suffix_decoding_scope": "all"}, BadParameter, "does not use"),
    ):
        with pytest.raises(error, match=words):
            model.generate("a", speculative={**ALONE, **settings})
    with load("tabular") as toy, pytest.raises(BadParameter, match="the engine of tabular shows none"):
        toy.generate("a", speculative="head-ngram")


def test_settings_of_one_part_alone_still_mean_that_part() -> None:
    assert meant(None, {"head_path": "x"}) == "head"
    assert meant(None, {"ngram_lm_path": "x"}) == "ngram-lm"
    assert meant(None, {"head_path": "x", "ngram_lm_path": "y"}) == "head-ngram"
    assert meant(None, {"draft_temperature": 0.5}) == "auto"
