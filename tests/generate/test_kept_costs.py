"""A model that is closed keeps what its drafters took, and the next one that is loaded goes by it from the start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from generate.one_text import CONFIG, likely
from models.tiny_models import write_folder
from truedraw import Model, load
from truedraw.control.average import FIRST
from truedraw.control.payoff import PayoffController
from truedraw.protocol import KeepsDraftCosts

PROMPT = "12 12 12 12 12 12"
SETTINGS = {"max_tokens": 120, "ignore_eos": True, "temperature": 0, "speculative": "suffix"}
SOURCE = ("suffix", False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_folder(tmp_path_factory.mktemp("models") / "tiny", CONFIG, likely())


def opened(folder: Path, cache: Path, **options) -> Model:
    return load(folder, cache=cache, threads=1, cache_bytes=64 << 20, **options)


def records(cache: Path) -> list[Path]:
    return list(cache.rglob("drafts-*.json"))


def used(model: Model) -> float:
    """Drafts until they are measured; seconds of a call."""
    pace = model.experience.of(*SOURCE).pace
    for _ in range(10):
        model.generate(PROMPT, **SETTINGS)
        if pace.is_measured:
            break
    assert pace.is_measured
    return pace.call


def test_a_second_load_knows_its_drafters_in_the_first_round(folder, tmp_path, monkeypatch) -> None:
    with opened(folder, tmp_path) as model:
        used(model)
        assert not records(tmp_path)
        call = model.experience.of(*SOURCE).pace.call / model.experience.costs.seconds(1)
    (file,) = records(tmp_path)
    assert [(entry["source"], entry["call"]) for entry in json.loads(file.read_text())] == [("suffix", call)]

    known, budget = [], PayoffController.budget

    def watched(self, askers):
        known.append(self._known.of(*SOURCE).pace.is_known)
        return budget(self, askers)

    monkeypatch.setattr(PayoffController, "budget", watched)
    before = file.read_bytes()
    with opened(folder, tmp_path) as model:
        pace, costs = model.experience.of(*SOURCE).pace, model.experience.costs
        assert pace.call == pytest.approx(call * costs.seconds(1))
        model.generate(PROMPT, **{**SETTINGS, "max_tokens": 2})
        assert known[0]
        assert not pace.is_measured
        pace.add(1e9, 1)
        assert pace.call == pytest.approx(call * costs.seconds(1))
        for _ in range(FIRST):
            pace.add(7e-7, 1)
        assert pace.call == pytest.approx(7e-7)
        used(model)
        assert file.read_bytes() == before
    assert file.read_bytes() != before


def test_a_damaged_record_is_ignored_and_replaced(folder, tmp_path) -> None:
    with opened(folder, tmp_path) as model:
        used(model)
    (file,) = records(tmp_path)
    whole = file.read_text()
    file.write_text(whole[: len(whole) // 2])
    with opened(folder, tmp_path) as model:
        assert not model.experience.of(*SOURCE).pace.is_known
        used(model)
    assert json.loads(file.read_text())[0]["source"] == "suffix"


def test_plain_sampling_and_closing_twice_write_nothing_more(folder, tmp_path) -> None:
    model = opened(folder, tmp_path)
    model.generate(PROMPT, **{**SETTINGS, "speculative": False})
    model.close()
    assert not records(tmp_path)
    model = opened(folder, tmp_path)
    used(model)
    model.close()
    (file,) = records(tmp_path)
    file.unlink()
    model.close()
    assert not records(tmp_path)


def test_a_folder_that_cannot_be_written_is_no_error(folder, tmp_path, monkeypatch) -> None:
    replace = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if target.name.startswith("drafts-"):
            raise PermissionError(13, "read-only")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    with opened(folder, tmp_path) as model:
        used(model)
    assert not list(tmp_path.rglob("drafts-*"))


def test_a_table_has_no_place_to_keep_anything(tmp_path) -> None:
    with load("tabular", cache=tmp_path) as model:
        assert not isinstance(model.engine, KeepsDraftCosts)
        model.generate([0, 1, 0, 1, 0, 1], speculative="suffix", max_tokens=200, ignore_eos=True)
        assert model.experience.costs.num_passes
    assert not list(tmp_path.rglob("*"))
