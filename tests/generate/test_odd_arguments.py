"""Odd values from Python: one error that names what was given, or what they plainly mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truedraw import Speculation, load
from truedraw.errors import BadParameter, BadPrompt


@pytest.fixture(scope="module")
def model():
    with load("tabular") as loaded:
        yield loaded


@pytest.mark.parametrize(("option", "value"), [
    ("name", None), ("name", 3), ("name", b"tabular"), ("cache", 3), ("cache", b"x"), ("amateur", b"x"),
])  # fmt: skip
def test_what_is_no_name_and_no_path(option: str, value) -> None:
    with pytest.raises(BadParameter, match=f"^{option}: got .*; give a text or a path"):
        load(**{"name": "tabular", option: value})


@pytest.mark.parametrize(("option", "value"), [
    *((option, value) for option in ("engine", "numerics", "weights")
      for value in (0, False, [], {}, np.array([1, 2]))),
    ("engine", None), ("numerics", b"native"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["tabular", "smollm2-135m"])
def test_what_is_no_name_of_a_choice(name: str, option: str, value) -> None:
    with pytest.raises(BadParameter, match=f"^{option}: got .*; give a name"):
        load(name, **{option: value})


@pytest.mark.parametrize("name", ["tabular", "smollm2-135m"])
def test_an_empty_name_is_not_left_out(name: str) -> None:
    with pytest.raises(BadParameter, match=r"^numerics: "):
        load(name, numerics="")


@pytest.mark.parametrize("option", ["device", "draft", "threads", "speed"])
@pytest.mark.parametrize("name", ["tabular", "smollm2-135m"])
def test_an_array_as_an_option(name: str, option: str) -> None:
    with pytest.raises(BadParameter, match=f"^{option}: "):
        load(name, **{option: np.array([1, 2])})


def test_a_folder_may_be_a_text(tmp_path) -> None:
    for cache in (str(tmp_path), tmp_path, np.str_(tmp_path), "~"):
        with load("tabular", cache=cache) as loaded:
            assert loaded.generate("the", max_tokens=1, ignore_eos=True).choices[0].tokens


def test_no_name_is_no_folder() -> None:
    with pytest.raises(BadParameter, match=r"^cache: got ''; give a folder"):
        load("tabular", cache="")


def test_progress_is_a_function() -> None:
    with pytest.raises(BadParameter, match=r"^progress: got 3; give a function"):
        load("tabular", progress=3)


def test_numbers_of_numpy_for_an_engine() -> None:
    options = {"threads": np.int64(1), "cache_bytes": np.int64(1 << 26), "fixed_after": np.int32(-1)}
    with load("smollm2-135m", **options) as loaded, loaded.batch(logits_cache_bytes=np.int64(1 << 20)) as batch:
        run = batch.add("the", max_tokens=1)
        assert [each is run for each in batch.completed()] == [True]
    with pytest.raises(BadParameter, match=r"^threads: got 0"):
        load("smollm2-135m", threads=np.int64(0))


@pytest.mark.parametrize("prompt", [[10**5000], np.array(1), np.array([[1, 2]]), {1, 2}, frozenset({1}), {1: 2}, b"the",
                                    [1.0], [True], 5, None])  # fmt: skip
def test_what_is_no_prompt(model, prompt) -> None:
    with pytest.raises(BadPrompt, match=r"the prompt (is|holds) .*; give (a )?text") as error:
        model.generate(prompt)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(("given", "told"), [
    ({"ignore_eos": 10**5000}, r"^ignore_eos: got a number of .*; give true or false"),
    ({"json_schema": 10**5000}, r"^json_schema: got a number of .*; give an object"),
    ({"sampler_order": [10**5000]}, r"^sampler_order: no step is called a number of"),
    ({"top_k": 10**5000, "schedule": {"top_k": [[0, 5]]}}, r"^top_k: got a number of .* and a schedule"),
    ({"min_tokens": 10**5000 + 1, "max_tokens": 10**5000}, r"^min_tokens: got a number .*max_tokens is a number"),
    ({"speculative": 10**5000}, r"^speculative: got a number of .*; give a method"),
    *(({"speculative": {name: 10**5000}}, rf"^{name}: got a number of .*; give a name")
      for name in ("method", "model", "rejection_sample_method")),
    *(({"speculative": {name: 10**5000}}, rf"^{name}: got a number of .*; give true or false")
      for name in ("adaptive", "allow_lossy")),
    ({"speculative": {"lossy_options": 10**5000}}, r"^lossy_options: got a number of .*; give names and numbers"),
    ({"speculative": {"auto_sources": 10**5000}}, r"^auto_sources: got a number of .*; give a list"),
    ({"speculative": {10**5000: 1}}, r"^a number of thousands of digits: no such key of the speculative config"),
    ({"speculative": {"auto_sources": [{"method": "ngram", "speed": 10**5000}]}}, r"^speed: no such key"),
    ({"speculative": {"auto_sources": [10**5000]}}, r"^auto_sources: got a number of .* in it; give a method"),
])  # fmt: skip
def test_a_number_of_many_digits_where_something_else_is_meant(model, given, told: str) -> None:
    with pytest.raises(BadParameter, match=told):
        model.generate("the", **given)


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("name", ["temperature", "stop", "json_schema", "schedule", "logit_bias", "speculative"])
def test_a_value_that_has_no_words_for_itself(model, name: str) -> None:
    with pytest.raises(BadParameter, match=f"^{name}: .*a Mute that cannot be shown"):
        model.generate("the", **{name: Mute()})


@pytest.mark.parametrize(("given", "told"), [
    ({"mirostat": np.array([1, 2])}, r"^mirostat: got \[1, 2\]; give 2, or 0"),
    ({"mirostat": False}, r"^mirostat: got False; give 2, or 0"),
    ({"sampler_order": [np.array([1, 2])]}, r"^sampler_order: no step is called \[1, 2\]"),
    ({"speculative": {"draft_temperature": np.array([1, 2])}}, r"^draft_temperature: "),
    ({"speculative": {"auto_sources": np.array([1, 2])}}, r"^auto_sources: got array\(\[1, 2\]\); give a list"),
    ({"speculative": {"speed": np.array([1, 2])}}, r"^speed: no such key of the speculative config"),
])  # fmt: skip
def test_an_array_where_a_scalar_is_meant(model, given, told: str) -> None:
    with pytest.raises(BadParameter, match=told):
        model.generate([1], **given)


def test_a_number_of_many_digits_as_a_prompt(model) -> None:
    with pytest.raises(BadPrompt, match="the prompt is a number of thousands of digits; give a text"):
        model.generate(10**5000)


def test_a_token_of_many_digits(model) -> None:
    with pytest.raises(BadParameter, match=r"^stop_token_ids: got .*; the model's token ids are 0 to") as error:
        model.generate("the", stop_token_ids=[10**5000])
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("name", ["max_running", "max_rows", "fill_rows"])
def test_how_much_at_once(model, name: str) -> None:
    for value in (0, 2**20 + 1, 2**63, 1.5, np.float64(4)):
        with pytest.raises(BadParameter, match=rf"^{name}: got .*1 to 1048576"):
            model.batch(**{name: value})
    with model.batch(**{name: np.int64(4)}) as batch:
        run = batch.add("the", max_tokens=2, ignore_eos=True)
        assert [each is run for each in batch.completed()] == [True]


def test_settings_of_a_drafter_stay_the_same_objects(monkeypatch) -> None:
    table, log = np.eye(3), []
    monkeypatch.setattr(Speculation, "_check", lambda self: None)
    spec = Speculation("ngram", table=table, log=log, number=np.int64(4), num_speculative_tokens=np.int64(3))
    assert spec.settings["table"] is table
    assert spec.settings["log"] is log
    assert type(spec.settings["number"]) is type(spec.num_speculative_tokens) is int
    assert Speculation("model", model=Path("tabular")).model == "tabular"


SETTINGS = {
    "suffix": ("suffix_decoding_scope", "suffix_decoding_tree", "suffix_decoding_index"),
    "lookahead": ("lookahead_prompt", "lookahead_tree"),
    "recycle": ("recycle_scope",),
    "ngram-lm": ("ngram_lm_path", "ngram_lm_online"),
    "quantised-self": ("quantised_self_weights",),
    "mix": ("sources",),
    "staged": ("stage",),
}


@pytest.mark.parametrize("value", [10**5000, np.array([1, 2])], ids=["long", "array"])
@pytest.mark.parametrize(("method", "name"), [(method, name) for method, names in SETTINGS.items() for name in names])
def test_a_setting_of_a_drafter_that_is_none(model, method: str, name: str, value) -> None:
    with pytest.raises(BadParameter, match=name):
        model.generate("the", max_tokens=2, speculative={"method": method, name: value})


@pytest.mark.parametrize("given", [
    {"stop": [10**5000]}, {"allowed_token_ids": [10**5000]}, {"schedule": {10**5000: [[0, 1]]}},
    {"speculative": {"method": "prediction", "prediction": [10**5000]}},
    {"speculative": {"method": "prediction", "prediction": np.array(1)}},
], ids=["stop", "ids", "schedule", "prediction", "no list"])  # fmt: skip
def test_numbers_too_long_to_write_out_in_lists(model, given) -> None:
    with pytest.raises(BadParameter, match=r"a number of thousands of digits|give a list"):
        model.generate("the", max_tokens=2, **given)
