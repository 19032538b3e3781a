"""--save-draft: what cannot be is said before the work, and an end by ctrl-C keeps what was learnt."""

import json
import os
import signal
from types import SimpleNamespace

import pytest

from cli.test_bad_input import assert_refused
from cli.test_chat_verb import instruct
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.options import opened
from truedraw.cli.saving import check_saving, learns
from truedraw.errors import BadParameter
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation, speculation

LEARNING = {"method": "head", "refit": True}


@pytest.fixture
def saved(monkeypatch):
    """The paths that were written to; the model that is loaded counts as one with a head."""
    paths = []

    def save(self, path):
        paths.append(path)
        return SimpleNamespace(acceptance=(0.25, 0.5), places=3)

    monkeypatch.setattr("truedraw.generate.loading.load", lambda *_, **__: instruct())
    monkeypatch.setattr(DraftModels, "own_methods", ("head", "head-ngram"))
    monkeypatch.setattr(Model, "save_draft", save)
    return paths


@pytest.fixture
def learning(monkeypatch):
    """Whatever drafts counts as a head that learns."""
    monkeypatch.setattr("truedraw.cli.saving.learns", lambda config: True)


@pytest.mark.parametrize("verb", [("generate", "the"), ("chat",), ("bench", "many"), ("train", "eval")])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
def test_where_nothing_could_be_written(cli, tmp_path, monkeypatch, verb):
    monkeypatch.setattr("truedraw.generate.loading.load", None)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert_refused(cli(*verb, "--save-draft", pipe), f"--save-draft {pipe} cannot be written: it is no regular file")
    away = tmp_path / "no" / "head.safetensors"
    assert_refused(cli(*verb, "--save-draft", away), f"--save-draft {away} cannot be written", "a folder that exists")


def test_without_a_head(cli, tmp_path, monkeypatch):
    to = tmp_path / "head.safetensors"
    done = cli("generate", "the", "-m", "tabular", "--save-draft", to, "--speculative-config", json.dumps(LEARNING))
    assert_refused(done, "tabular was not loaded for a draft head")
    monkeypatch.setattr("truedraw.generate.loading.load", None)
    assert_refused(cli("generate", "the", "--draft", "none", "--save-draft", to), "--draft none", "leave it out")
    assert not to.exists()


def test_where_no_drafter_learns(tmp_path, monkeypatch, saved):
    flags = ModelFlags(save_draft=tmp_path / "head.safetensors")
    with opened(flags), opened(flags, configs=[{}, LEARNING]):
        pass
    assert saved == [flags.save_draft] * 2
    monkeypatch.setattr("truedraw.generate.loading.load", None)
    with pytest.raises(BadParameter, match='no head learns here; give "refit": true'), opened(flags, configs=[{}]):
        pass


@pytest.mark.parametrize("verb", [
    ("generate", "the"), ("chat",), ("bench",), ("bench", "many"), ("bench", "reuse"), ("check",), ("tune",),
    ("train", "eval"), ("sweep", "the", "--temperature", "1,0.5"),
])  # fmt: skip
def test_a_verb_says_so_before_the_model_is_loaded(cli, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("truedraw.generate.loading.load", None)
    assert_refused(cli(*verb, "--save-draft", "head.safetensors"), "--save-draft: no head learns here")


def test_a_folder_that_learns_and_cannot_be_saved(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("truedraw.generate.loading.load", None)
    folder, file = tmp_path / "medusa", tmp_path / "own.safetensors"
    folder.mkdir()
    given = ("generate", "the", "--save-draft", tmp_path / "head.safetensors", "--speculative-config")
    said = f"--save-draft: {folder} is a folder, into which nothing learnt is written; give a head in a file, or leave"
    assert_refused(cli(*given, json.dumps(LEARNING), "--draft", folder), said)
    inside = {"auto_sources": ["suffix", {**LEARNING, "head_path": str(folder)}]}
    assert_refused(cli(*given, json.dumps(inside), "--draft", file), said)
    check_saving(tmp_path / "head.safetensors", folder, [{**LEARNING, "head_path": str(file)}])
    check_saving(tmp_path / "head.safetensors", file, [LEARNING])


def test_what_learns():
    inside = {"auto_sources": ["suffix", LEARNING]}
    for config in (LEARNING, inside):
        assert learns(config)
        assert learns(speculation(config))
    for config in ({**LEARNING, "refit": False}, {"auto_sources": ["suffix", "head"]}, {}, "head", None, True):
        assert not learns(config)
        assert not learns(Speculation() if config is None else speculation(config))


@pytest.mark.interrupts
@pytest.mark.usefixtures("learning")
def test_an_answer_that_is_interrupted_in_a_pipe(cli, tmp_path, interrupted_in_pass, saved):
    interrupted_in_pass(6)
    to = tmp_path / "head.safetensors"
    done = cli("chat", "--ignore-eos", "--max-tokens", 40, "--save-draft", to, stdin=b"the cat\nthe dog\n")
    assert done.code == 130
    assert len(done.out.splitlines()) == 1
    assert saved == [to]
    assert f"--save-draft: {to}: the head kept 0.500 of what it drafted at 3 places" in done.err


@pytest.mark.interrupts
@pytest.mark.usefixtures("learning")
def test_ctrl_c_between_answers(cli, tmp_path, monkeypatch, saved):
    monkeypatch.setattr("truedraw.cli.turns.talk", lambda *_: signal.raise_signal(signal.SIGINT))
    assert cli("chat", "--save-draft", tmp_path / "head.safetensors").code == 130
    assert saved == [tmp_path / "head.safetensors"]


@pytest.mark.usefixtures("learning")
def test_an_error_saves_nothing(cli, tmp_path, saved):
    assert cli("chat", "--save-draft", tmp_path / "head.safetensors", stdin=b"caf\xe9\n").code == 2
    assert saved == []
