"""Speculation said in several places: the command line before the environment, that before a file."""

import json

import pytest

from truedraw.cli.flags import SpeculationFlags
from truedraw.cli.grouping import Sources
from truedraw.cli.speculating import speculation_of
from truedraw.errors import BadParameter

FLAG, ENVIRONMENT, FILE = "COMMANDLINE", "ENVIRONMENT", "DEFAULT_MAP"
INDEX = {"method": "suffix", "suffix_decoding_scope": "all"}


def of(**places):
    """Each flag as (where it is from, value); a dict is the speculative config."""
    texts = {name: json.dumps(value) if isinstance(value, dict) else value for name, (_, value) in places.items()}
    sources = Sources({name: place for name, (place, _) in places.items()})
    found = speculation_of(SpeculationFlags(**texts, sources=sources))
    return {key: value for key, value in found.config().items() if key in ("method", "model", *found.settings)} | (
        {} if found.num_speculative_tokens == 7 else {"tokens": found.num_speculative_tokens}
    )


def plain(method, **more):
    return {"method": method, "model": None, **more}


CASES = {
    "a method before a method": ({"spec_method": (FLAG, "ngram"), "speculative_config": (FILE, {"method": "recycle"})},
                                 plain("ngram")),
    "a config before a method": ({"spec_method": (FILE, "ngram"), "speculative_config": (FLAG, {"method": "recycle"})},
                                 plain("recycle")),
    "the environment before a file": (
        {"spec_method": (FILE, "ngram"), "speculative_config": (ENVIRONMENT, {"method": "recycle"})}, plain("recycle")),
    "a flag before the environment": (
        {"spec_method": (FLAG, "ngram"), "speculative_config": (ENVIRONMENT, {"method": "recycle"})}, plain("ngram")),
    "a number before a number": (
        {"spec_tokens": (FLAG, 3), "speculative_config": (FILE, {**INDEX, "num_speculative_tokens": 5})},
        plain(**INDEX, tokens=3)),
    "the same method keeps its settings": ({"spec_method": (FLAG, "suffix"), "speculative_config": (FILE, INDEX)},
                                           plain(**INDEX)),
    "another method leaves them out, and keeps the number": (
        {"spec_method": (FLAG, "ngram"), "speculative_config": (FILE, {**INDEX, "num_speculative_tokens": 5})},
        plain("ngram", tokens=5)),
    "none leaves all out": (
        {"spec_method": (FLAG, "none"), "speculative_config": (FILE, {**INDEX, "num_speculative_tokens": 5})},
        plain("none")),
    "a setting of the file's method": ({"spec_method": (FILE, "ngram"),
                                        "speculative_config": (FLAG, {"prompt_lookup_max": 3})},
                                       plain("ngram", prompt_lookup_max=3)),
    "a setting that only another method has": (
        {"spec_method": (FILE, "suffix"), "speculative_config": (FLAG, {"prompt_lookup_max": 3})},
        plain("ngram", prompt_lookup_max=3)),
    "a model for the file's method": ({"spec_model": (FLAG, "b"), "speculative_config": (FILE, {"method": "tli",
                                       "model": "a", "draft_top_k": 4})},
                                      {"method": "tli", "model": "b", "draft_top_k": 4}),
    "a model where the file's method has none": (
        {"spec_model": (FLAG, "b"), "speculative_config": (FILE, {"method": "ngram", "prompt_lookup_max": 3})},
        {"method": "model", "model": "b"}),
    "a method for the file's model": ({"spec_method": (FLAG, "tli"), "spec_model": (FILE, "a")},
                                      {"method": "tli", "model": "a"}),
    "a draft temperature is one drafter's own": (
        {"spec_method": (FLAG, "ngram-lm"),
         "speculative_config": (FILE, {"method": "model", "model": "a", "draft_temperature": 0.5})}, plain("ngram-lm")),
    "three places": (
        {"spec_tokens": (FLAG, 2), "spec_method": (ENVIRONMENT, "suffix"), "speculative_config": (FILE, INDEX)},
        plain(**INDEX, tokens=2)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_counts(name):
    places, expected = CASES[name]
    assert of(**places) == expected


@pytest.mark.parametrize("place", [FLAG, ENVIRONMENT, FILE])
def test_one_place_must_agree_with_itself(place):
    with pytest.raises(BadParameter, match="'ngram' contradicts method 'suffix' in --speculative-config"):
        of(spec_method=(place, "ngram"), speculative_config=(place, INDEX))


@pytest.mark.parametrize("config", [{"speed": 9}, {"method": "suffix", "speed": 9}, {"method": "oracle"}])
def test_a_flag_hides_no_mistake_in_a_file(config):
    if config.get("method") == "oracle":
        assert of(spec_method=(FLAG, "ngram"), speculative_config=(FILE, config)) == plain("ngram")
        return
    with pytest.raises(BadParameter, match="speed"):
        of(spec_method=(FLAG, "ngram"), speculative_config=(FILE, config))


def test_what_does_not_fit_is_refused_where_no_other_drafter_is_meant():
    with pytest.raises(BadParameter, match="the method none does not use num_speculative_tokens"):
        of(spec_tokens=(FLAG, 3), spec_method=(FILE, "none"))
    with pytest.raises(BadParameter, match="the method ngram does not use draft_temperature"):
        of(speculative_config=(FLAG, {"draft_temperature": 0.5}), spec_method=(FILE, "ngram"))


def test_the_command_line_itself(cli, tmp_path, monkeypatch):
    """Where each value is from is found out by the command line."""
    path = tmp_path / "truedraw.toml"
    broken = json.dumps({"method": "suffix", "suffix_decoding_index": "missing.tdx"})
    settings = "model = 'tabular'\njson = true\nseed = 3\nignore-eos = true\nmax-tokens = 40\n"
    path.write_text(f"{settings}speculative-config = '{broken}'\n", encoding="utf-8")
    asked = ("generate", "the cat sat ran dog sat ran", "--config", path)
    assert (cli(*asked).code, "missing.tdx" in cli(*asked).err) == (2, True)
    monkeypatch.setenv("TRUEDRAW_SPEC_METHOD", "none")
    assert json.loads(cli(*asked).out)["stats"]["drafted"] == 0
    monkeypatch.setenv("TRUEDRAW_SPECULATIVE_CONFIG", '{"adaptive": false, "method": "none"}')
    assert "does not use adaptive" in cli(*asked).err
    monkeypatch.setenv("TRUEDRAW_SPECULATIVE_CONFIG", '{"adaptive": false}')
    monkeypatch.delenv("TRUEDRAW_SPEC_METHOD")
    assert json.loads(cli(*asked, "--spec-method", "ngram").out)["stats"]["drafted"] > 0
