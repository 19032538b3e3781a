"""docs/files.md names every key that a file of results, and the object at the end of its run, can have."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import Speculation
from truedraw.bench import provenance
from truedraw.bench.memory import MemoryUse, Stage
from truedraw.bench.provenance import machine
from truedraw.bench.reuse import ArmRun, Repetition, report
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.options import computed_with
from truedraw.control.explanation import Explanation, Passes, Stay, Use
from truedraw.control.rivalry import Rivalry
from truedraw.engine.logits_cache import LogitsCacheUse
from truedraw.sampling.params import SamplingParams
from truedraw.stats.check import Certificate, Finding, Section, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
NAMED = {part for name in re.findall(r"`([\w.\[\]]+)`", PAGE) for part in name.split(".")}
TOY = ("-m", "tabular", "--max-tokens", 4, "--json")
LINES = ({"prompt": "the cat", "id": 7}, {"prompt": "the", "custom_id": "c", "logprobs": 1}, {"prompt": "", "n": 0})


def keys(record):
    """Its own, and those of an error or a point of a sweep."""
    inner = (record.get("error", {}), *record.get("points", ()))
    return {*record, *(key for each in inner for key in each)}


def unnamed(done, path):
    records = [*map(json.loads, path.read_text().splitlines()), json.loads(done.out)]
    return {key for record in records for key in keys(record)} - NAMED


def test_keys_of_generate_input(cli, tmp_path):
    source, out = tmp_path / "prompts.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    assert not unnamed(cli("generate", *TOY, "--input", source, "--output", out), out)


@pytest.mark.parametrize("more", [(), ("--bad-words", " sat", "--bad-words", " ran", "--allowed-token-ids", 3)])
def test_keys_of_sweep(cli, tmp_path, more):
    out = tmp_path / "out.jsonl"
    assert not unnamed(cli("sweep", "the cat", *TOY, "--temperature", "0.5,1", "-n", 2, *more, "--output", out), out)


def inner_keys(value, free=()):
    """Of all objects in it, but those whose keys are names of something else."""
    if isinstance(value, list):
        return {key for each in value for key in inner_keys(each, free)}
    if not isinstance(value, dict):
        return set()
    named = {key for name in free for inner in value.get(name, {}).values() for key in inner_keys(inner, free)}
    return (
        {*value} | named | {key for name, each in value.items() if name not in free for key in inner_keys(each, free)}
    )


@pytest.mark.parametrize("method", ["auto", "none"])
def test_keys_of_explain(cli, method):
    done = cli("generate", "the cat sat the cat", *TOY[:2], "--json", "--explain", "--spec-method", method,
               "--max-tokens", 60, "--ignore-eos", "--seed", 3)  # fmt: skip
    found = json.loads(done.out)["explain"]
    assert found["chosen"] is (method == "auto")
    assert not {*inner_keys(found, free=("drafters",)), "explain"} - NAMED


def test_keys_of_what_was_explained_where_all_of_it_is_there():
    rivalry = Rivalry(times=1, first=2.0, second=1.0)
    whole = Explanation(1, 1, {"a": Use()}, {("a", "b"): rivalry}, {"why": Stay(1, 1, 1)},
                        {(1, 0): Passes(1, 1.0, 1, 1.0, 1.0, 1.0)})  # fmt: skip
    assert not inner_keys(whole.to_dict(), free=("drafters",)) - NAMED


def test_keys_of_models_show(cli, tmp_path):
    folder = write_folder(tmp_path / "m", tiny_config(), random_tensors(tiny_config()))
    assert not {*json.loads(cli("models", "show", folder, "--json").out)} - NAMED


def test_keys_of_check():
    section = Section("a", "title", (Finding("name", True, "says"),))
    found = Certificate((section,), {"model": "m", **asdict(Settings())}, {}, 1.0).to_dict()
    conditions = {*computed_with(ModelFlags(), None), *provenance.settings(SamplingParams(), Speculation()), *machine()}
    outer = {*found, *found["sections"][0], *found["sections"][0]["findings"][0], *conditions}
    assert not outer - NAMED


def test_keys_of_bench_kernels(cli):
    done = cli("bench", "kernels", "--vocab-sizes", 300, "--rows", 1, "--repeats", 2, "--json")
    found = json.loads(done.out)
    arms = ("microseconds_per_row", "speedup_over", "versions")
    assert not inner_keys(found, free=arms) - {*found["versions"]} - NAMED


def test_keys_of_bench_many(cli):
    found = json.loads(cli("bench", "many", *TOY[:2], "-n", 2, "--max-tokens", 4, "--repeats", 1, "--json").out)
    ours = {key: value for key, value in found.items() if key not in ("sampling", "speculation", "versions")}
    assert not {*found, *inner_keys(ours, free=("tokens_per_second", "gain_over", "other_fraction"))} - NAMED


@pytest.mark.parametrize("more", [(), ("--batch-sizes", "1,2")])
def test_keys_of_bench(cli, more):
    done = cli("bench", *TOY[:2], "--limit", 2, "--max-tokens", 3, "--ignore-eos", "--json", *more)
    found = json.loads(done.out)
    ours = {key: value for key, value in found.items() if key not in ("sampling", "speculation", "versions")}
    assert not {*found, *inner_keys(ours, free=("by_category",))} - NAMED


def test_keys_of_bench_reuse():
    run = ArmRun(((1, 2),), 2, 2, 1.0, LogitsCacheUse(1, 1, 1, 1, 0))
    assert not {"model", *inner_keys(report([(run, run)], Repetition()))} - NAMED


def test_keys_of_bench_memory():
    use = MemoryUse(*range(1, 8), stages=(Stage("loaded", 1, 2),))
    assert not {"model", *inner_keys(use.to_json()), *inner_keys([asdict(stage) for stage in use.stages])} - NAMED


def test_settings_stand_where_the_page_says(cli, tmp_path):
    out = tmp_path / "samples.jsonl"
    cli("sweep", "the cat", *TOY, "--temperature", 1, "-n", 1, "--output", out)
    (beside,) = {path.name for path in tmp_path.iterdir()} - {out.name}
    assert f"`{beside}`" in PAGE
