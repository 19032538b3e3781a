"""The reuse benchmark compares like with like, and counts what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from inspect import signature

import pytest

from bench.compiling import compile_in_a_pass
from truedraw import Model, load
from truedraw.bench import reuse as measure
from truedraw.bench.reuse import ArmRun, Repetition, lines, report, reuse
from truedraw.engine.logits_cache import LogitsCacheUse
from truedraw.errors import BadParameter

SMALL = Repetition(
    questions=("the cat", "the dog sat"), temperatures=(0.5, 1.0), n=4, rounds=2, max_tokens=5, max_running=3,
    cache_bytes=1 << 20,
)  # fmt: skip
NO_USE = LogitsCacheUse(0, 0, 0, 0, 0, 0)
WITHOUT = ArmRun(((1, 2), (3,)), passes=10, rows=40, seconds=3.0, cache=NO_USE)
CACHED = ArmRun(((1, 2), (4,)), passes=7, rows=30, seconds=2.0, cache=LogitsCacheUse(3, 9, 2, 99, 1, 0))


def test_every_request_has_a_seed_of_its_own():
    plan = replace(SMALL, seed=100)
    requests = [*plan.requests(0), *plan.requests(1)]
    assert len(requests) == 2 * 2 * 2 * 2
    assert [sampling["seed"] for _, sampling in requests] == list(range(100, 116))
    assert [question for question, _ in requests] == [0, 0, 1, 1] * 4
    assert [sampling["temperature"] for _, sampling in requests] == [0.5, 1.0] * 8


def test_behind_the_last_seed_comes_the_first():
    seeds = [sampling["seed"] for _, sampling in replace(SMALL, seed=2**64 - 2).requests(0)]
    assert seeds == [2**64 - 2, 2**64 - 1, 0, 1, 2, 3, 4, 5]
    with pytest.raises(BadParameter, match="seed"):
        next(replace(SMALL, seed=2**64).requests(0))


def test_it_measures_what_batches_have_unless_told_otherwise():
    given = signature(Model.batch).parameters["logits_cache_bytes"].default
    assert Repetition().cache_bytes == given == signature(Model.generate_many).parameters["logits_cache_bytes"].default


def test_numbers_of_a_report():
    found = report([(WITHOUT, CACHED)], SMALL)
    assert found["passes_saved"]["median"] == pytest.approx(0.3)
    assert found["rows_saved"]["median"] == 0.25
    assert found["hit_rate"]["median"] == 0.25
    assert found["speedup"]["median"] == 1.5
    assert found["identical_texts"] == {"count": 1, "of": 2}
    assert (found["without"][0]["tokens"], found["with"][0]["cache"]["evicted"]) == (3, 1)
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))


def test_lines_for_people():
    full = replace(CACHED, cache=LogitsCacheUse(3, 9, 1200, 3 << 19, 34, 5))
    told = lines(report([(WITHOUT, full), (WITHOUT, replace(full, passes=9))], replace(SMALL, cache_bytes=64 << 20)))
    assert told[0] == "2 questions at T = 0.5, 1, 4 samples each, 2 times over"
    assert told[1] == "without 10 passes, 40 rows, 3 tokens, 3.00 s"
    assert told[3] == "with    7 passes, 30 rows, 3 tokens, 2.00 s"
    assert told[5] == told[6] == ("held at the end: 1.5 of 64.0 MiB, 1,200 rows; 34 made room for others, 5 found none")
    assert told[7].startswith("passes saved: 20.0% (10.0% to 30.0%); the goal is 20% to 40%")
    assert told[-1] == "speed-up: 1.50 (1.50 to 1.50); identical texts: 2/4"


def test_both_arms_on_the_toy():
    """Of a few words, so nearly everything comes again."""
    calls = []
    found = reuse(load("tabular"), SMALL, repeats=2, after_each=lambda: calls.append(1))
    requests = SMALL.rounds * len(SMALL.questions) * len(SMALL.temperatures)
    assert len(calls) == 4
    assert found["identical_texts"] == {"count": 2 * requests * SMALL.n, "of": 2 * requests * SMALL.n}
    assert found["passes_saved"]["low"] > 0.3
    assert found["hit_rate"]["low"] > 0.3
    for without, cached in zip(found["without"], found["with"], strict=True):
        assert without["tokens"] == cached["tokens"]
        assert without["passes"] >= without["tokens"] / SMALL.max_running
        assert 0 < cached["cache"]["hits"] <= cached["tokens"]


def test_what_the_compiler_takes_is_no_part_of_an_arm(monkeypatch):
    compile_in_a_pass(monkeypatch, of=6)
    found = reuse(load("tabular"), replace(SMALL, rounds=1, n=1), repeats=1)
    assert any(run["seconds"] < 0 for run in (*found["without"], *found["with"]))


def test_arms_take_turns_and_the_cache_is_in_one_of_them(monkeypatch):
    order = []

    def run(model, plan, cache_bytes, repeat, speculative):
        order.append((plan.max_tokens, cache_bytes, repeat))
        return CACHED if cache_bytes else WITHOUT

    monkeypatch.setattr(measure, "_run", run)
    found = reuse(load("tabular"), SMALL, repeats=2)
    size = SMALL.cache_bytes
    assert order[1:] == [(5, 0, 0), (5, size, 0), (5, size, 1), (5, 0, 1)]
    assert order[0][0] < 5
    assert [run["passes"] for run in (*found["without"], *found["with"])] == [10, 10, 7, 7]


def test_a_request_that_fails_ends_the_measurement():
    with pytest.raises(Exception, match="temperature"):
        reuse(load("tabular"), replace(SMALL, temperatures=(-1.0,)))
