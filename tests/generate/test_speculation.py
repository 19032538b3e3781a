"""The speculative config: which keys belong to which method, and models that draft for a loaded target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import Model, load
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadFile, BadModelFile, BadParameter, UnknownModel, UnknownName
from truedraw.generate.keys import ALWAYS, DRAFTING, GIVEN_BY_RUN, KNOBS, arguments, keys
from truedraw.generate.speculation import Speculation, speculation
from truedraw.registry import names

PROMPT = "the cat sat ran dog sat ran"
SEEDED = {"seed": 6, "n": 3, "ignore_eos": True, "max_tokens": 40}


@pytest.fixture
def toy() -> Model:
    with load("tabular") as model:
        yield model


UNUSED = [
    ({"method": "none", "num_speculative_tokens": 5}, "num_speculative_tokens"),
    ({"method": "none", "num_speculative_tokens": 7}, "num_speculative_tokens"),
    ({"method": "none", "adaptive": False}, "adaptive"),
    ({"method": "none", "adaptive": True}, "adaptive"),
    ({"method": "none", "draft_temperature": 0.5, "prompt_lookup_max": 2}, "draft_temperature, prompt_lookup_max"),
    ({"method": "none", "model": "tabular"}, "model"),
    ({"method": "ngram", "model": "tabular"}, "model"),
    ({"model": "tabular", "prompt_lookup_min": 2}, "prompt_lookup_min"),
    ({"draft_sample_method": "greedy"}, "draft_sample_method"),
    ({"method": "ngram", "suffix_decoding_max_tree_depth": 4}, "suffix_decoding_max_tree_depth"),
    *(({"method": "ngram", name: 1}, name) for name in KNOBS if name != "draft_sample_method"),
]


@pytest.mark.parametrize(("config", "told"), UNUSED, ids=str)
def test_a_setting_that_the_method_does_not_use_is_refused(config, told: str) -> None:
    method = config.get("method", "model" if "model" in config else "auto")
    with pytest.raises(BadParameter, match=f"the method {method} does not use {told}; leave that out") as raised:
        speculation(config)
    assert raised.value.parameter == told.partition(",")[0]


def test_what_none_means_anyway_may_be_said() -> None:
    for config in ({"method": "none", "num_speculative_tokens": 0}, {"method": "none", "model": None}, False, "none"):
        assert speculation(config).method == "none"
    coupled = speculation({"method": "none", "rejection_sample_method": "coupled"})
    assert coupled.verifier(None).coupled


@pytest.mark.parametrize(
    ("config", "error", "told"),
    [
        ({"method": "model"}, BadParameter, "model: the method model drafts with a model"),
        ({"model": ""}, BadParameter, "model: got ''"),
        ({"model": 3}, BadParameter, "model: got 3"),
        ({"model": "tabular", "draft_top_k": -2}, BadParameter, "draft_top_k"),
        ({"model": "tabular", "draft_top_q": 2}, BadParameter, "with model: method, .*draft_top_k"),
        ({"model": "tabular", "draft_sample_method": "gumbel", "rejection_sample_method": "block"}, BadParameter,
         "draft_sample_method: gumbel needs a coupled rule"),
        ({"model": "tabular", "draft_siblings": 2, "rejection_sample_method": "block"}, BadParameter,
         "draft_siblings: the rule block takes chains only"),
        ({"method": "clairvoyant", "model": "tabular"}, UnknownName, "clairvoyant"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(config, error, told: str) -> None:
    with pytest.raises(error, match=told):
        speculation(config)


def test_settings_alone_mean_the_only_method_that_has_them() -> None:
    assert Speculation(prompt_lookup_min=2).method == "ngram"
    assert speculation({"suffix_decoding_tree": True, "adaptive": False}).method == "suffix"
    assert speculation({"num_speculative_tokens": 3}).method == speculation(None).method == "auto"


def test_a_model_alone_means_that_it_drafts() -> None:
    assert speculation({"model": Path("some.gguf")}) == Speculation(method="model", model="some.gguf")


@pytest.mark.parametrize("method", names("drafters"))
def test_every_setting_of_a_drafter_is_a_key(method: str) -> None:
    assert {*arguments(method)} - {*GIVEN_BY_RUN} <= {*keys(method)}
    assert not {*keys(method)} & {*ALWAYS, *DRAFTING}


def test_keys_that_no_method_knows_are_listed_apart_from_those_of_another_one() -> None:
    with pytest.raises(BadParameter, match=r"no such key .* with suffix: method, .*suffix_decoding_tree"):
        Speculation("suffix", suffix_decoding_trees=True)
    with pytest.raises(BadParameter, match="the method suffix does not use prompt_lookup_max"):
        Speculation("suffix", prompt_lookup_max=3)


def test_a_config_and_its_keys_are_the_same_thing() -> None:
    spec = Speculation("suffix", num_speculative_tokens=3, suffix_decoding_tree=True)
    assert speculation(spec.config()) == spec
    assert spec.but(suffix_decoding_tree=None) == Speculation("suffix", num_speculative_tokens=3)


@pytest.mark.parametrize("knobs", [{}, {"draft_temperature": 0.4, "draft_siblings": 3}, {"draft_top_k": 1},
                                   {"draft_sample_method": "greedy"}, {"draft_sample_method": "probabilistic"},
                                   {"draft_sample_method": "gumbel", "draft_stop_below": 0.3}], ids=str)  # fmt: skip
def test_a_seed_gives_one_text_whatever_the_model_drafts(toy: Model, knobs) -> None:
    plain = toy.generate(PROMPT, speculative=False, **SEEDED)
    for length in (1, 2, 7):
        spec = {"model": "tabular", "num_speculative_tokens": length, "adaptive": False, **knobs}
        fast = toy.generate(PROMPT, speculative=spec, **SEEDED)
        assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
        assert fast.stats.accepted > 0
        assert fast.fallback is None


def test_with_a_seed_drafts_share_the_targets_noise_and_without_one_they_do_not(toy: Model) -> None:
    """A model that drafts for itself is always right under coupling, and is always kept by the p/q rules too."""
    spec = {"model": "tabular", "adaptive": False}
    assert toy.generate(PROMPT, speculative=spec, **SEEDED).stats.acceptance_rate == 1.0
    assert toy.generate(PROMPT, speculative=spec, **{**SEEDED, "seed": None}).stats.acceptance_rate == 1.0
    apart = {**spec, "draft_sample_method": "probabilistic"}
    assert toy.generate(PROMPT, speculative=apart, **SEEDED).stats.acceptance_rate < 0.8


def test_the_targets_noise_is_not_for_a_run_without_a_seed(toy: Model) -> None:
    spec = {"model": "tabular", "draft_sample_method": "gumbel"}
    toy.generate(PROMPT, seed=1, speculative=spec)
    toy.generate(PROMPT, speculative={**spec, "rejection_sample_method": "coupled"})
    with pytest.raises(BadParameter, match=r"draft_sample_method: .gumbel. draws with the noise of the target"):
        toy.generate(PROMPT, speculative=spec)


def test_a_draft_model_is_opened_once_and_closed_with_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[TabularEngine] = []

    def close(engine: TabularEngine) -> None:
        closed.append(engine)

    monkeypatch.setattr(TabularEngine, "close", close)
    with load("tabular") as model:
        for _ in range(3):
            model.generate(PROMPT, speculative={"model": "tabular"}, max_tokens=3)
        draft = model.drafts.engine("tabular")
        assert draft is model.drafts.engine("tabular") is not model.engine
        assert closed == []
    assert closed == [draft, model.engine]


@pytest.mark.parametrize(
    ("name", "error"), [("no/such.gguf", BadFile), ("smollm2-13", UnknownModel), ("./", BadModelFile)]
)
def test_a_draft_model_that_cannot_be_opened_is_an_error(toy: Model, name: str, error) -> None:
    with pytest.raises(error):
        toy.generate(PROMPT, speculative={"model": name})
    assert toy.generate(PROMPT, max_tokens=3).stats.tokens > 0


# ------------------------------------------------------------------------------------------------------- models


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A target and smaller models with its tokenizer; one with a short context, one with more rows."""
    root = tmp_path_factory.mktemp("folders")
    big, small = tiny_config(num_layers=3), tiny_config(num_layers=1)
    configs = {
        "target": big,
        "small": small,
        "short": replace(small, context_length=24),
        "padded": replace(small, vocab_size=big.vocab_size + 22),
    }
    return {
        name: write_folder(root / name, config, {
            k: (v * 0.2).astype(np.float32) for k, v in random_tensors(config, seed=len(name)).items()
        })
        for name, config in configs.items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def target(folders, tmp_path_factory) -> Model:
    with load(folders["target"], cache=tmp_path_factory.mktemp("cache"), numerics="reference") as model:
        yield model


@pytest.mark.parametrize("name", ["small", "short", "padded"])
@pytest.mark.parametrize("knobs", [{}, {"draft_siblings": 2, "draft_temperature": 0.8}], ids=str)
def test_models_from_files_draft_for_one_another(target: Model, folders, name: str, knobs) -> None:
    settings = {"seed": 4, "n": 2, "max_tokens": 50, "ignore_eos": True, "temperature": 0.5}
    plain = target.generate("hello world 12", speculative=False, **settings)
    spec = {"model": folders[name], "num_speculative_tokens": 4, "adaptive": False, **knobs}
    fast = target.generate("hello world 12", speculative=spec, **settings)
    assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
    assert fast.fallback is None
    assert fast.stats.drafted > 20
    free = target.drafts.engine(str(folders[name]))._pool.num_free
    target.generate("hello world 12", speculative=spec, **settings)
    assert target.drafts.engine(str(folders[name]))._pool.num_free == free


def test_a_model_of_another_vocabulary_is_refused(toy: Model, folders) -> None:
    toy.drafts.options = {"numerics": "reference"}
    with pytest.raises(BadParameter, match=r"model: the vocabulary of .* is not that of tabular.*same family"):
        toy.generate(PROMPT, speculative={"model": str(folders["small"])})
    assert not toy.drafts._open


def test_a_key_that_no_method_knows_is_refused_with_nothing_in_it() -> None:
    with pytest.raises(BadParameter, match="foo: no such key"):
        speculation({"method": "ngram", "foo": None})
    assert speculation({"method": "ngram", "draft_top_k": None, "head_depth": None}).method == "ngram"


TREES = ["mix", {"method": "recycle", "recycle_tree": True}, {"method": "staged", "model": "tabular", "stage": "mix"}]


@pytest.mark.parametrize("stage", TREES, ids=str)
def test_a_stage_drafts_trees_whatever_the_rule_takes(toy: Model, stage) -> None:
    """The rule sees the chain of the middle model alone."""
    config = {"method": "staged", "model": "tabular", "stage": stage, "adaptive": False}
    for rule in ("token", "block", "kseq", "multipath"):
        result = toy.generate(PROMPT, speculative={**config, "rejection_sample_method": rule}, max_tokens=20)
        assert result.fallback is None
        assert result.stats.drafted
    with pytest.raises(BadParameter, match="the method mix drafts trees"):
        toy.generate(PROMPT, speculative={"method": "mix", "rejection_sample_method": "block"})
