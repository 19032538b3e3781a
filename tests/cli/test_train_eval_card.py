"""truedraw train eval --write-card, and what truedraw train show then says."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from draft.head.random_heads import card, write
from models.tiny_models import random_tensors, tiny_config, write_gguf
from truedraw import load
from truedraw.draft.head.file import read_card

EVAL = ("--max-tokens", 16, "--ignore-eos", "--repeats", 0, "--json")


@pytest.fixture
def given(tmp_path):
    """A head for a model, and what is asked of both."""
    config = tiny_config()
    path = write_gguf(tmp_path / "tiny.gguf", config, random_tensors(config))
    with load(path, cache=tmp_path / "cache", draft="none") as model:
        fingerprint = model.tokenizer.fingerprint
    head = write(tmp_path / "head.safetensors", card(
        target="tiny", tokenizer=fingerprint, vocab_size=config.vocab_size, width=64, layers=(0,), tokens=50,
        training={"seed": 5}))  # fmt: skip
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "hello", "category": "one"}\n{"prompt": "12 wolves", "category": "two"}\n')
    return head, ("-m", path, "--cache", tmp_path / "cache", "--prompts", prompts, *EVAL)


def test_a_card_has_what_was_found(cli, tmp_path, given):
    head, flags = given
    before, to = head.read_bytes(), tmp_path / "told.safetensors"
    done = cli("train", "eval", head, *flags, "--temperature", "1,0", "--write-card", to)
    assert (done.code, done.err) == (0, "")
    assert head.read_bytes() == before
    training = read_card(to).training
    assert training["seed"] == 5
    mine = training["evaluated"]["prompts.jsonl"]["temperatures"]
    assert {*mine} == {"1", "0"}
    told = json.loads(done.out)["temperatures"][0]
    assert mine["1"]["places"] == told["places"]
    assert mine["1"]["acceptance"][0]["mean"] == pytest.approx(told["acceptance"][0]["mean"], abs=1e-4)
    assert {*mine["1"]["by_category"]} == {"one", "two"}
    for name, values in load_file(to).items():
        np.testing.assert_array_equal(values, load_file(head)[name])
    shown = cli("train", "show", to).out
    for said in ("prompts.jsonl: 2 prompts, 16 tokens at most, seed 0", "  two ", "T = 0, "):
        assert said in shown


def test_it_may_be_the_head_itself_and_no_other_file(cli, tmp_path, given):
    head, flags = given
    other = tmp_path / "other.safetensors"
    other.write_bytes(b"precious")
    done = cli("train", "eval", head, *flags, "--temperature", 1, "--write-card", other)
    assert (done.code, other.read_bytes()) == (2, b"precious")
    assert "is there already; give another file, or the head itself" in done.err
    assert cli("train", "eval", head, *flags, "--temperature", 1, "--write-card", head).code == 0
    assert "evaluated" in read_card(head).training
    assert cli("train", "eval", head, *flags, "--temperature", 1).code == 0  # it is a head still
