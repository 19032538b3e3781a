"""The file that holds what drafters take: read again as it was written, and ignored where it is no such file."""

from __future__ import annotations

import json

import pytest

from engine.decoder import tiny_engine
from truedraw.engine.cpu.drafting_costs import KeptCosts
from truedraw.protocol import DraftCost, KeepsDraftCosts

COSTS = [
    DraftCost("suffix", False, 0.001, 0.0002, 0.00015),
    DraftCost("head", False, 0.2, 0.1, 0.2, 0.07),
    DraftCost("medusa", False, 0.2, 0.1, 0.2, 0.0),
    DraftCost("model(model=Ωδ/\udcff)", True, 4, 1 / 3, 1),
]
ENTRY = {"source": "it", "coupled": False, "call": 0.5, "token": 0.25, "level": 0.25}
DAMAGED = ["", "{", "null", "7", "{}", '{"rows": {"1": 0.1}}', "[1]", "[[]]", "[{}]", '["it"]', "[" * 100_000,
           json.dumps([ENTRY])[:-5], json.dumps([{**ENTRY, "more": 1}]), json.dumps([{**ENTRY, "call": "0.5"}]),
           json.dumps([{**ENTRY, "call": None}]), json.dumps([{**ENTRY, "call": True}]),
           json.dumps([{**ENTRY, "call": 10**400}]), json.dumps([{**ENTRY, "token": [1]}]),
           json.dumps([{**ENTRY, "source": 3}]), json.dumps([{**ENTRY, "coupled": 0}]),
           json.dumps([{**ENTRY, "further": "0"}]), json.dumps([ENTRY, {"source": "it"}]), "\udcff"]  # fmt: skip


def test_what_was_written_is_read(tmp_path) -> None:
    file = tmp_path / "new" / "drafts.json"
    KeptCosts(file).write(COSTS)
    assert KeptCosts(file).read() == COSTS
    assert list(file.parent.iterdir()) == [file]
    KeptCosts(file).write(COSTS[1:])
    assert KeptCosts(file).read() == COSTS[1:]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_ignored_and_replaced(tmp_path, content) -> None:
    file = tmp_path / "drafts.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert KeptCosts(file).read() == []
    KeptCosts(file).write(COSTS)
    assert KeptCosts(file).read() == COSTS


def test_no_file_and_no_folder_to_write_to_are_no_errors(tmp_path) -> None:
    (tmp_path / "taken").write_text("a file")
    kept = KeptCosts(tmp_path / "taken" / "drafts.json")
    kept.write(COSTS)
    assert kept.read() == []


# --------------------------------------------------------------------------------------------- the paged engine


def records(cache) -> list:
    return list(cache.rglob("drafts-*.json"))


def test_an_engine_keeps_them_until_it_is_closed(tmp_path) -> None:
    engine = tiny_engine(tmp_path)
    assert isinstance(engine, KeepsDraftCosts)
    assert engine.draft_costs() == []
    assert not records(tmp_path)
    engine.keep_draft_costs(COSTS)
    assert engine.draft_costs() == COSTS
    assert len(records(tmp_path)) == 1
    engine.close()
    engine.keep_draft_costs([])
    assert engine.draft_costs() == []
    assert tiny_engine(tmp_path).draft_costs() == COSTS


def test_other_options_are_kept_apart_beside_their_pass_table(tmp_path) -> None:
    for threads in (1, 2):
        engine = tiny_engine(tmp_path, threads=threads, cache_bytes=64 << 20)
        assert engine.draft_costs() == []
        engine.pass_costs()
        engine.keep_draft_costs(COSTS[threads - 1 :])
    tables = {file.name.removeprefix("passes-") for file in tmp_path.rglob("passes-*.json")}
    assert {file.name.removeprefix("drafts-") for file in records(tmp_path)} == tables
    assert len(tables) == 2


def test_the_first_layers_keep_nothing(tmp_path) -> None:
    shallow = tiny_engine(tmp_path).shallow(1)
    assert not isinstance(shallow, KeepsDraftCosts)
