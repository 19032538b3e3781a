"""truedraw models: list, pull, show."""

import json
import os
import subprocess
import sys

import pytest
from tiny_models import random_tensors, tiny_config, write_gguf
from typer.testing import CliRunner

from truedraw.cli.models import app
from truedraw.errors import BadParameter, UnknownModel
from truedraw.models import open_checkpoint
from truedraw.models.fingerprint import fingerprint


@pytest.fixture
def model(tmp_path):
    return write_gguf(tmp_path / "m.gguf", tiny_config(), random_tensors(tiny_config()))


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0
    return done


def test_show_for_people_and_programs(model, tmp_path):
    facts = json.loads(run("show", model, "--json", "--cache", tmp_path).stdout)
    assert (facts["architecture"], facts["kind"], facts["path"]) == ("llama", "gguf", str(model))
    said = run("show", model, "--cache", tmp_path)
    assert "byte-level BPE (smollm)" in said.stdout
    assert "F32 20" in said.stdout
    assert said.stderr == ""


def test_measured_passes_for_people_and_programs(model, tmp_path, monkeypatch):
    table = {"rows": {1: 0.0112, 64: 0.25}, "texts": {4: 0.0125}, "further": {1: 0.9e-6, 4: 2.1e-6}, "length": 100}
    monkeypatch.setattr("truedraw.bench.distance.distances", lambda checkpoint, cache: [])
    monkeypatch.setattr("truedraw.bench.pass_seconds.pass_seconds", lambda checkpoint, cache: table)
    said = "rows 1: 11.2 ms, 64: 250.0 ms; texts 4: 12.5 ms; rows, a thousand tokens further 1: 0.9 ms, 4: 2.1 ms"
    assert said in run("show", model, "--measure").stdout
    facts = json.loads(run("show", model, "--measure", "--json").stdout)
    assert facts["pass_seconds"] == {
        "rows": {"1": 0.0112, "64": 0.25}, "texts": {"4": 0.0125}, "further": {"1": 0.9e-6, "4": 2.1e-6},
        "length": 100,
    }  # fmt: skip
    monkeypatch.setattr("truedraw.bench.pass_seconds.pass_seconds", lambda checkpoint, cache: None)
    said = run("show", model, "--measure").stdout.splitlines()
    assert [line.split() for line in said if line.startswith("pass seconds")] == [["pass", "seconds", "-"]]


def test_list(tmp_path):
    assert "smollm2-135m  98 MB  not fetched" in run("list", "--cache", tmp_path).stdout
    (entry,) = json.loads(run("list", "--json", "--cache", tmp_path).stdout)
    assert (entry["name"], entry["path"], entry["licence"]) == ("smollm2-135m", None, "Apache-2.0")


def test_the_cache_has_an_environment_twin(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "org--name"
    folder.mkdir(parents=True)
    assert "org/name" not in run("list").stdout
    (folder / "config.json").write_text("{}")
    assert "org/name" in run("list").stdout


def test_pull_says_on_stderr_what_was_fetched_anew(model, monkeypatch):
    def told(name, *, notice, **options):
        notice("config.json was fetched anew")
        return open_checkpoint(name)

    monkeypatch.setattr("truedraw.cli.models.open_checkpoint", told)
    assert run("pull", model).stderr == "truedraw: notice: config.json was fetched anew\n"


def test_pull_of_what_is_there_prints_its_path(model):
    assert run("pull", model).stdout == f"{model}\n"
    assert json.loads(run("pull", model, "--json").stdout)["path"] == str(model)


def test_errors_are_left_to_the_main_command():
    with pytest.raises(UnknownModel, match="did you mean"):
        CliRunner().invoke(app, ["show", "smollm2"], catch_exceptions=False)


@pytest.mark.parametrize("verb", ["show", "pull"])
def test_the_toy_has_no_files(verb):
    with pytest.raises(BadParameter, match="MODEL: tabular is a table and has no files"):
        run(verb, "tabular")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes there")
@pytest.mark.parametrize("language", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
@pytest.mark.parametrize("name", [b"m\xff.gguf", "mé.gguf".encode()])
def test_a_name_of_any_bytes(model, tmp_path, language, name):
    path = tmp_path / os.fsdecode(name)
    model.rename(path)
    command = [sys.executable, "-m", "truedraw", "models", "show", path, "--cache", tmp_path]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **language})
    assert (done.returncode, done.stderr) == (0, b"")
    assert fingerprint([path]).encode() in done.stdout
