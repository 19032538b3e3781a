"""truedraw tune: the file it writes is one that the other verbs read."""

import json
import tomllib
from inspect import signature

import pytest

from truedraw.bench.tried import READY
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.tuned import everywhere, model_flags
from truedraw.engine.tabular import TabularEngine
from truedraw.registry import find, names

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
    assert f"notice: 2 prompts are too few to tell among {len(READY)} candidates; at least" in done.err
    text = path.read_text()
    assert f"# Chosen: {found['chosen']}." in text
    assert all(f"# {each['name']}" in text for each in found["candidates"])
    assert "temperature 0.5" in " ".join(text.replace("#", "").split())  # wherever lines end
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
        (("--try", "{"), "--try: "),
        (("--try", "[]"), "--try: "),
        (("--try", '{"method": "none"}'), "--try: plain sampling is measured in any case"),
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
    assert "2 prompts are too few to tell among 12 candidates; at least 8 are needed" in done.err
    *_, own, failed = json.loads(done.out)["candidates"]
    assert own["config"] == config
    assert own["prompts"] in (1, 2)
    assert "the engine of tabular cannot" in failed["given_up"]
    assert "cannot run here" in (tmp_path / "x.toml").read_text()


def test_a_candidate_in_the_environment_may_hold_blanks(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_CANDIDATE", '{"method": "ngram", "prompt_lookup_max": 2}')
    done = cli(*FAST, "-o", tmp_path / "x.toml", "--json")
    assert json.loads(done.out)["candidates"][-1]["config"]["prompt_lookup_max"] == 2


def test_one_that_was_interrupted_at_once_has_decided_nothing(cli, tmp_path, monkeypatch):
    def never(self, *works):
        raise KeyboardInterrupt

    monkeypatch.setattr(TabularEngine, "forward", never)
    done = cli(*FAST, "-o", tmp_path / "x.toml")
    assert done.code == 130
    found = json.loads(done.out)
    assert (found["chosen"], found["speculative_config"], found["complete"]) == (None, None, False)
    assert found["reasons"] == ["It was interrupted before anything was measured."]


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


@pytest.mark.parametrize(
    ("flags", "environment", "seed"),
    [((), None, None), (("--seed", 5), None, 5), ((), 5, 5), (("--no-seed",), 5, None), (("--seed", 4), 5, 4)],
)
def test_it_is_seeded_as_generate_would_be(cli, tmp_path, monkeypatch, flags, environment, seed):
    if environment is not None:
        monkeypatch.setenv("TRUEDRAW_SEED", str(environment))
    path = tmp_path / "x.toml"
    done = cli(*FAST, *flags, "-o", path, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["sampling"]["seed"] == seed
    assert all((each["identical_texts"] is not None) == (seed is not None) for each in found["candidates"])
    assert ("no seed" in path.read_text()) == (seed is None)


def test_a_flag_for_no_seed_in_the_environment_counts_below_one_for_a_seed(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_NO_SEED", "1")
    done = cli(*FAST, "--seed", 5, "-o", tmp_path / "x.toml", "--json")
    assert json.loads(done.out)["sampling"]["seed"] == 5
    both = cli(*FAST, "--seed", 5, "--no-seed", "-o", tmp_path / "y.toml")
    assert (both.code, both.out) == (2, "")
    assert "--no-seed contradicts --seed 5" in " ".join(both.err.split()).replace(":", "")


def file_settings() -> set[str]:
    """What drafters take that may be a file."""
    kinds = [find("drafters", name) for name in names("drafters")]
    taken = [each for kind in kinds for each in signature(kind).parameters.values()]
    return {each.name for each in taken if "Path" in str(each.annotation)}


def test_every_file_that_a_config_names_is_written_so_that_it_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it").touch()
    assert {"eagle_path", "head_path", "ngram_lm_path", "suffix_decoding_index"} <= file_settings()
    for name in (*file_settings(), "model", "draft", "amateur"):
        for config in ({name: "it"}, {"auto_sources": [{"method": "x", name: "it"}]}, {"stage": {name: "it"}}):
            assert str(tmp_path / "it") in json.dumps(everywhere(config)), name
    assert everywhere({"prediction": "it", "method": "it", "stage": "it"}) == {
        "prediction": "it", "method": "it", "stage": "it"
    }  # fmt: skip


def test_the_file_holds_what_passes_were_measured_with():
    assert model_flags(ModelFlags()) == {}
    assert model_flags(ModelFlags(fixed_after=0, threads=2)) == {"fixed-after": 0, "threads": 2}


@pytest.mark.model
@pytest.mark.slow
def test_on_the_real_model(cli, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(
        json.dumps(
            {"prompt": "Repeat twice: " + "the quick brown fox jumps over the lazy dog. " * 4, "category": "copy"}
        )
    )
    path = tmp_path / "tuned.toml"
    done = cli("tune", "--prompts", prompts, "--max-tokens", 16, "--temperature", 0, "--seed", 0, "--budget", "1s",
               "-o", path)  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    ran = [each for each in found["candidates"] if each["given_up"] is None]
    assert len(ran) >= 5
    assert {"head (always 1)", "head-ngram", "early-exit", "quantised-self"} <= {each["name"] for each in ran}
    assert all(each["identical_texts"]["count"] == each["identical_texts"]["of"] for each in ran)
    assert cli("generate", "Hello", "--config", path, "--max-tokens", 4).code == 0


def test_a_name_stays_a_name_where_a_file_is_called_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("smollm2-135m", "tabular", "none", "mtp"):
        (tmp_path / name).mkdir()
    names = {"model": "smollm2-135m", "amateur": "tabular", "draft": "none"}
    assert everywhere(names) == names
    assert everywhere([{"method": "model", "model": "tabular"}, {"draft": "mtp"}]) == [
        {"method": "model", "model": "tabular"}, {"draft": "mtp"}
    ]  # fmt: skip
    for files in ({"model": "none"}, {"draft": "tabular"}, {"model": "./tabular"}, {"head_path": "none"}):
        assert str(tmp_path) in json.dumps(everywhere(files)), files


def test_the_config_file_names_the_model_that_was_measured(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tabular").mkdir()
    assert cli(*FAST, "-o", "x.toml").code == 0
    assert tomllib.loads((tmp_path / "x.toml").read_text())["generate"]["model"] == "tabular"
