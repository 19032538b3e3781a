"""Flags of the sampling law: written forms, and that they reach the law."""

from __future__ import annotations

import json

import pytest

from truedraw import load
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.errors import BadParameter

TOY = ("--model", "tabular", "--seed", "0", "--max-tokens", "12", "--ignore-eos", "--no-stats")


def test_parts_are_read() -> None:
    flags = SamplingFlags(
        temperature=0.0, logit_bias=["3=-1.5", "4=2"], schedule=["top-p=0:0.9,50:0.5"], sampler_order="top-k,min_p",
        allowed_token_ids=[1, 2],
    )  # fmt: skip
    assert flags.given() == {
        "temperature": 0.0,
        "logit_bias": {3: -1.5, 4: 2.0},
        "schedule": {"top_p": [[0, 0.9], [50, 0.5]]},
        "sampler_order": ["top_k", "min_p"],
        "allowed_token_ids": [1, 2],
    }
    assert SamplingFlags(sampler_order="llama.cpp").given() == {"sampler_order": "llama.cpp"}
    assert SamplingFlags(sampler_order="temperature,").given() == {"sampler_order": ["temperature"]}
    assert SamplingFlags(sampler_order=",").given() == {"sampler_order": ","}  # an order of nothing, which is refused


@pytest.mark.parametrize(
    ("name", "value"),
    [("logit_bias", "3"), ("logit_bias", "a=1"), ("schedule", "temperature"), ("schedule", "temperature=0-1")],
)
def test_what_cannot_be_read_is_refused(name, value) -> None:
    with pytest.raises(BadParameter, match=f"--{name.replace('_', '-')}.*got"):
        SamplingFlags(**{name: [value]}).given()


def test_they_reach_the_law(cli) -> None:
    flags = ("--frequency-penalty", "0.7", "--bad-words", "dog", "--schedule", "temperature=0:2,9:0.5")
    found = cli("generate", "the cat", *TOY, "--json", *flags).out
    tokens = json.loads(found)["choices"][0]["token_ids"]
    law = {"frequency_penalty": 0.7, "bad_words": ["dog"], "schedule": {"temperature": [[0, 2], [9, 0.5]]}}
    expected = load("tabular").generate("the cat", seed=0, max_tokens=12, ignore_eos=True, **law)
    assert tuple(tokens) == expected.choices[0].tokens
    assert 2 not in tokens


def test_a_contradiction_is_said_in_words(cli) -> None:
    answer = cli("generate", "the cat", *TOY, "--mirostat", "2", "--top-p", "0.9")
    assert answer.code == 2
    assert "top_p" in answer.err


def test_counts_may_be_scheduled(cli) -> None:
    assert SamplingFlags(schedule=["top-k=0:5,9:2"]).given() == {"schedule": {"top_k": [[0, 5], [9, 2]]}}
    assert cli("generate", "the cat", *TOY, "--schedule", "top_k=0:1").code == 0


@pytest.mark.parametrize(
    ("name", "values"),
    [("logit_bias", ["1=-100", "1=100"]), ("schedule", ["temperature=0:1", "temperature=0:0.1"]),
     ("schedule", ["top-p=0:0.5", "top_p=0:0.9"])],
)  # fmt: skip
def test_nothing_stands_there_twice(name, values) -> None:
    with pytest.raises(BadParameter, match=f"--{name.replace('_', '-')}.*stands there twice"):
        SamplingFlags(**{name: values}).given()


def test_an_end_token_that_ends_nothing_waits_for_its_turn(cli) -> None:
    end = 5
    tokens = {}
    for least in ("0", "12"):
        found = cli("generate", "the cat", *TOY, "--json", "--min-tokens", least, "-n", "8")
        tokens[least] = {token for choice in json.loads(found.out)["choices"] for token in choice["token_ids"]}
    assert end in tokens["0"]
    assert end not in tokens["12"]
