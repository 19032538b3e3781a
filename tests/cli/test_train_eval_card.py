"""truedraw train eval --write-card, and what truedraw train show then says."""

import json
import os
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from draft.head.random_heads import card, write
from models.tiny_models import random_tensors, tiny_config, write_gguf
from truedraw import load
from truedraw.draft.head.file import read_card
from truedraw.errors import BadFile

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


def test_temperatures_and_files_of_one_name_are_kept(cli, tmp_path, given):
    head, flags = given
    other = tmp_path / "elsewhere" / "prompts.jsonl"
    other.parent.mkdir()
    other.write_text('{"prompt": "hello 12"}\n')
    assert cli("train", "eval", head, *flags, "--temperature", 1, "--write-card", head).code == 0
    assert cli("train", "eval", head, *flags, "--temperature", 0, "--write-card", head).code == 0
    assert {*read_card(head).training["evaluated"]["prompts.jsonl"]["temperatures"]} == {"1", "0"}
    assert (
        cli("train", "eval", head, *flags, "-t", 1, "--prompts", other, "--top-p", 0.5, "--write-card", head).code == 0
    )
    sets = read_card(head).training["evaluated"]
    assert [*sets] == ["prompts.jsonl", "prompts.jsonl (2)"]
    assert [each["prompts"] for each in sets.values()] == [2, 1]
    assert "prompts.jsonl (2): 1 prompts, 16 tokens at most, seed 0, " in (said := cli("train", "show", head).out)
    assert ", top_p 0.5" in said


def test_a_head_beside_a_head_path_is_refused(cli, tmp_path, given):
    head, flags = given
    other = tmp_path / "other.safetensors"
    shutil.copy(head, other)
    before = head.read_bytes()
    config = json.dumps({"method": "head", "head_path": str(other)})
    done = cli("train", "eval", head, *flags, "-t", 1, "--speculative-config", config, "--write-card", head)
    assert (done.code, done.out, head.read_bytes()) == (2, "", before)
    assert f"HEAD: {head} is a head, and so is head_path {other}; give one of them" in done.err


def test_the_head_itself_is_the_one_that_drafts(cli, tmp_path, given):
    head, flags = given
    other = tmp_path / "other.safetensors"
    shutil.copy(head, other)
    by_path = ("--speculative-config", json.dumps({"method": "head", "head_path": str(other)}))
    done = cli("train", "eval", *flags, "-t", 1, "--draft", head, *by_path, "--write-card", head)
    assert (done.code, done.out) == (2, "")
    assert f"--write-card {head} is there already; give another file, or the head itself" in done.err
    assert cli("train", "eval", *flags, "-t", 1, "--draft", head, "--write-card", head).code == 0
    assert "evaluated" in read_card(head).training


def test_a_head_goes_beside_a_draft_that_is_none(cli, given):
    head, flags = given
    done = cli("train", "eval", head, *flags, "-t", 1, "--draft", "none")
    assert (done.code, json.loads(done.out)["head"]["file"]) == (0, str(head))


def test_figures_are_told_before_the_card_is_written(cli, tmp_path, given, monkeypatch):
    def full(*_):
        raise BadFile("the disk is full")

    monkeypatch.setattr("truedraw.draft.head.noting.note", full)
    head, flags = given
    done = cli("train", "eval", head, *flags, "-t", 1, "--write-card", tmp_path / "told.safetensors")
    assert (done.code, done.err) == (2, "truedraw: error: the disk is full\n")
    assert len(json.loads(done.out)["temperatures"]) == 1


def test_a_card_that_cannot_be_written_is_refused_before_the_work(cli, tmp_path, given, monkeypatch):
    monkeypatch.setattr("truedraw.generate.loading.load", None)
    head, flags = given
    folder = tmp_path / "medusa"
    folder.mkdir()
    done = cli("train", "eval", folder, *flags, "--write-card", tmp_path / "told.safetensors")
    assert f"--write-card: {folder} is a folder, which has no card to write to; leave it out" in done.err
    monkeypatch.setattr("truedraw.whole_files.os.access", lambda _, how: how != os.W_OK)
    done = cli("train", "eval", head, *flags, "--write-card", tmp_path / "told.safetensors")
    assert "told.safetensors cannot be written: give a file in a folder that exists and may be written to" in done.err
