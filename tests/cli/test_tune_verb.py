"""truedraw tune: the file it writes is one that the other verbs read."""

import json
import tomllib

import pytest

from truedraw.bench.tune import READY
from truedraw.engine.tabular import TabularEngine

FAST = ("tune", "-m", "tabular", "--max-tokens", 8, "--ignore-eos", "--limit", 2, "--budget", "0.1s")


def test_the_file_is_read_by_the_other_verbs(cli, tmp_path):
    path = tmp_path / "tuned.toml"
    done = cli(*FAST, "--output", path, "--temperature", 0.5)
    assert done.code == 0, done.err
    found = json.loads(done.out.splitlines()[-1])
    assert (found["file"], found["complete"], found["sampling"]["temperature"]) == (str(path), True, 0.5)
    assert [each["name"] for each in found["candidates"]][:2] == ["auto", "ngram"]
    assert len(found["candidates"]) == len(READY)
    assert found["chosen"] in done.err
    text = path.read_text()
    assert f"# Chosen: {found['chosen']}." in text
    assert all(f"# {each['name']}" in text for each in found["candidates"])
    assert "temperature 0.5" in text
    tables = tomllib.loads(text)
    assert {"generate", "chat", "sweep", "bench"} <= tables.keys()
    assert tables["generate"] == {"model": "tabular", "spec-method": found["speculative_config"]["method"]} or (
        json.loads(tables["generate"]["speculative-config"]) == found["speculative_config"]
    )
    for verb in (("generate", "the cat"), ("bench", "--limit", 1)):
        again = cli(*verb, "--config", path, "--max-tokens", 6, "--json")
        assert again.code == 0, again.err
        assert json.loads(again.out)["model"] == "tabular"
    assert json.loads(again.out)["speculation"]["method"] == found["speculative_config"]["method"]
    flags = ("--spec-method", "recycle", "--max-tokens", 6, "--json")
    other = cli("generate", "the cat", "--config", path, *flags) if "spec-method" in tables["generate"] else None
    assert other is None or other.code == 0


def test_nothing_is_overwritten_unless_that_is_wanted(cli, tmp_path):
    path = tmp_path / "tuned.toml"
    path.write_text("mine")
    done = cli(*FAST, "--output", path)
    assert (done.code, done.out, path.read_text()) == (2, "", "mine")
    assert "--overwrite" in done.err
    assert cli(*FAST, "--output", path, "--force", "--json").code == 0
    assert path.read_text().startswith("# Written by truedraw tune")
    assert [each.name for each in tmp_path.iterdir()] == ["tuned.toml"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--budget", "soon"), "2m"),
        (("--budget", "0"), "2m"),
        (("--try", "{"), "--candidate"),
        (("--try", "[]"), "--candidate"),
        (("--try", '{"method": "none"}'), "measured in any case"),
        (("--try", '{"method": "ngram", "speed": 3}'), "speed"),
        (("--try", '{"method": "model"}'), "name one in model"),
        (("--prompts", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--output", "nowhere/tuned.toml"), "nowhere"),
        (("--output", "."), "already"),
        (("--temperature", -1), "temperature"),
    ],
)
def test_bad_use_is_said_before_the_model_is_loaded(cli, tmp_path, monkeypatch, flags, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("truedraw.cli.options.opened", None)
    done = cli(*FAST, *flags)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert not list(tmp_path.iterdir())


def test_further_candidates(cli, tmp_path):
    config = {"method": "ngram", "prompt_lookup_max": 2, "num_speculative_tokens": 2}
    done = cli(
        *FAST, "-o", tmp_path / "x.toml", "--try", json.dumps(config), "--try", '{"method": "early-exit"}', "--json"
    )
    assert done.code == 0
    assert done.err == ""
    *_, own, failed = json.loads(done.out)["candidates"]
    assert own["config"] == config
    assert own["prompts"] in (1, 2)
    assert "needs a model with layers" in failed["given_up"]
    assert "cannot run here" in (tmp_path / "x.toml").read_text()


def test_a_candidate_in_the_environment_may_hold_blanks(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_CANDIDATE", '{"method": "ngram", "prompt_lookup_max": 2}')
    done = cli(*FAST, "-o", tmp_path / "x.toml", "--json")
    assert json.loads(done.out)["candidates"][-1]["config"]["prompt_lookup_max"] == 2


def test_an_interruption_reports_and_writes_nothing(cli, tmp_path, monkeypatch):
    forward, count = TabularEngine.forward, [0]

    def counted(self, *works):
        count[0] += 1
        if count[0] == 300:
            raise KeyboardInterrupt
        return forward(self, *works)

    monkeypatch.setattr(TabularEngine, "forward", counted)
    done = cli(*FAST[:-1], "60s", "-o", tmp_path / "x.toml")
    assert done.code == 130
    found = json.loads(done.out)
    assert (found["complete"], found["file"]) == (False, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.model
def test_on_the_real_model(cli, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(
        json.dumps(
            {"prompt": "Repeat twice: " + "the quick brown fox jumps over the lazy dog. " * 4, "category": "copy"}
        )
    )
    path = tmp_path / "tuned.toml"
    done = cli("tune", "--prompts", prompts, "--max-tokens", 16, "--temperature", 0, "--budget", "1s", "-o", path)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    ran = [each for each in found["candidates"] if each["given_up"] is None]
    assert len(ran) >= 5
    assert all(each["identical_texts"]["count"] == each["identical_texts"]["of"] for each in ran)
    assert cli("generate", "Hello", "--config", path, "--max-tokens", 4).code == 0
