"""docs/files.md names every key that a file of results, and the object at the end of its run, can have."""

import json
import re
from pathlib import Path

import pytest

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


def test_settings_stand_where_the_page_says(cli, tmp_path):
    out = tmp_path / "samples.jsonl"
    cli("sweep", "the cat", *TOY, "--temperature", 1, "-n", 1, "--output", out)
    (beside,) = {path.name for path in tmp_path.iterdir()} - {out.name}
    assert f"`{beside}`" in PAGE
