"""The self-test of invariance is recorded; row counts stay where they are while that is cheap."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from engine.decoder import PLAIN, RandomWeights, tiny_checkpoint, tiny_engine
from engine.pages import PAGE_BYTES
from truedraw.engine.cpu import CPUEngine, InvarianceReport
from truedraw.engine.cpu.selftest import check_once
from truedraw.engine.openvino.row_counts import RowCounts, rounded
from truedraw.errors import BadModelFile
from truedraw.stats.check.machine import invariance


def loaded(cache, **options):
    return CPUEngine.load(tiny_checkpoint(), cache=cache, cache_bytes=8 << 20, **options)


def record(cache):
    (file,) = cache.rglob("invariance-*.json")
    return file


def test_the_reference_arithmetic_is_not_tested(tmp_path):
    assert tiny_engine(tmp_path).invariance is None


def test_the_result_is_recorded_and_read_again(tmp_path):
    first = loaded(tmp_path).invariance
    assert isinstance(first, InvarianceReport)
    assert first.rows > 60
    assert first.holds == (first.largest_difference == 0) == (first.largest_tv == 0) == (not first.differing)
    values = json.loads(record(tmp_path).read_text())
    record(tmp_path).write_text(json.dumps({**values, "holds": False, "differing": ["tree"]}))
    second = loaded(tmp_path).invariance
    assert second == replace(first, holds=False, differing=("tree",))


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"holds": true}', "null"])
def test_a_damaged_record_is_written_anew(tmp_path, content):
    first = loaded(tmp_path).invariance
    record(tmp_path).write_text(content)
    assert loaded(tmp_path).invariance == first
    assert json.loads(record(tmp_path).read_text())["rows"] == first.rows


def test_other_threads_are_another_record(tmp_path):
    loaded(tmp_path, threads=1)
    loaded(tmp_path, threads=2)
    assert len(list(tmp_path.rglob("invariance-*.json"))) == 2


def test_a_model_with_hardly_any_context_can_be_loaded(tmp_path):
    config = replace(PLAIN, context_length=16)
    engine = tiny_engine(tmp_path, config, RandomWeights(config), numerics="runtime")
    assert engine.invariance is not None


@pytest.mark.parametrize(
    ("numerics", "context_length"), [("invariant", 160), ("runtime", 160), ("rowwise", 160), ("runtime", 16)]
)
def test_a_small_cache_is_loaded_without_the_test(tmp_path, numerics, context_length):
    config = replace(PLAIN, context_length=context_length)
    tested = []
    for pages in range(2, 16):
        more = {"numerics": numerics, "cache_bytes": pages * PAGE_BYTES}
        engine = tiny_engine(tmp_path / str(pages), config, RandomWeights(config), **more)
        assert engine.cache_use().pages_held == 0
        assert bool(engine.invariance) == bool(list((tmp_path / str(pages)).rglob("invariance-*.json")))
        tested.append(engine.invariance is not None)
    assert tested == sorted(tested)
    assert (tested[0], tested[-1]) == (False, True)


def test_the_certificate_leaves_out_what_the_cache_has_no_room_for(tmp_path):
    found = invariance(tiny_engine(tmp_path, numerics="runtime", cache_bytes=2 * PAGE_BYTES))
    assert found.passed is None
    assert found.says.startswith("skipped: the cache has no room")


def test_what_was_found_with_a_larger_cache_is_known_with_a_small_one(tmp_path):
    found = tiny_engine(tmp_path, numerics="runtime").invariance
    assert tiny_engine(tmp_path, numerics="runtime", cache_bytes=2 * PAGE_BYTES).invariance == found


def test_row_counts_on_the_ladder():
    assert [rounded(n) for n in (1, 2, 3, 6, 7, 9, 24, 25, 64, 65)] == [2, 2, 4, 6, 8, 12, 24, 32, 64, 72]


def test_few_rows_keep_the_largest_recent_count():
    counts = RowCounts()
    assert [counts.choose(n) for n in (1, 6, 2, 1, 5)] == [2, 6, 6, 6, 6]
    assert [counts.choose(1) for _ in range(20)][-1] == 2


def test_a_prompt_does_not_widen_what_follows():
    counts = RowCounts()
    assert counts.choose(200) == 200
    assert counts.choose(1) == 2


def test_wide_passes_are_held_within_a_third():
    counts = RowCounts()
    assert counts.choose(64) == 64
    assert counts.choose(50) == 64
    assert counts.choose(40) == 56  # of the 50 before it
    assert counts.choose(20) == 24


class Damaged(RandomWeights):
    """Weights whose logits are no numbers; or no numbers themselves."""

    largest = float(np.finfo(np.float32).max)

    def dense(self, name):
        found = super().dense(name)
        return np.full_like(found, self.largest) if name == "model.norm.weight" else found


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_not_converted(tmp_path, value):
    weights = Damaged(PLAIN)
    weights.largest = value
    for numerics in ("runtime", "reference"):
        with pytest.raises(BadModelFile, match=r"model\.norm\.weight holds values that are no finite numbers"):
            CPUEngine.load(tiny_checkpoint(weights=weights), numerics=numerics, cache=tmp_path)


@pytest.mark.parametrize("recorded", [False, True])
def test_damaged_weights_say_nothing_of_the_machine(tmp_path, recorded):
    checkpoint = tiny_checkpoint(weights=Damaged(PLAIN))
    engine = CPUEngine.load(checkpoint, cache=tmp_path, cache_bytes=8 << 20)
    assert engine.invariance is None
    assert not list(tmp_path.rglob("invariance-*.json"))
    if recorded:  # by an earlier version
        file = tmp_path / "old.json"
        report = InvarianceReport(False, math.nan, math.nan, 9, ())
        file.write_text(json.dumps(asdict(report)))
        assert check_once(engine, file) is None


def test_a_recorded_number_beyond_every_float_is_found_out_again(tmp_path):
    first = loaded(tmp_path, numerics="runtime").invariance
    record(tmp_path).write_text(json.dumps(asdict(first) | {"largest_difference": 10**400}))
    assert loaded(tmp_path, numerics="runtime").invariance == first
