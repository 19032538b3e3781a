from dataclasses import replace

import pytest

from bench.compiling import compile_in_a_pass
from truedraw import load
from truedraw.bench.many import ALONE, SPECULATIVE, TOGETHER, Many, Run, measured, report
from truedraw.bench.peers.arms import PEERS, peer
from truedraw.errors import BadParameter
from truedraw.generate.speculation import Speculation
from truedraw.sampling.params import SamplingParams

PARAMS = SamplingParams(n=3, max_tokens=20, seed=1)


class Other:
    """A system that answers at once."""

    def __init__(self):
        self.asked = []

    def sample(self, tokens, n, max_tokens, temperature):
        self.asked.append((tuple(tokens), n, max_tokens, temperature))
        return n * max_tokens


def plan(**peers):
    return Many(load("tabular"), (0, 1), PARAMS, Speculation(), peers)


def test_everyone_runs_in_turn_and_draws_as_many_tokens():
    other = Other()
    runs = measured(plan(other=other), repeats=2)
    assert {name: [run.tokens for run in each] for name, each in runs.items()} == {
        ALONE: [60, 60], TOGETHER: [60, 60], SPECULATIVE: [60, 60], "other": [60, 60],
    }  # fmt: skip
    assert other.asked == [((0, 1), 3, 16, 1.0), *[((0, 1), 3, 20, 1.0)] * 2]


def test_what_the_compiler_takes_is_no_part_of_a_run(monkeypatch):
    compile_in_a_pass(monkeypatch, of=30)
    runs = measured(plan(), repeats=1)
    assert any(run.seconds < 0 for each in runs.values() for run in each)


def test_behind_the_last_seed_comes_the_first():
    last = replace(plan(), params=replace(PARAMS, seed=2**64 - 1))
    assert [run.tokens for run in measured(last, repeats=2)[TOGETHER]] == [60, 60]


def test_seeds_are_those_that_were_asked_for():
    """None where none was, as in generate."""
    for seed, expected in ((None, {None}), (7, {7, 8})):
        seen = []
        many = replace(plan(), params=replace(PARAMS, seed=seed))
        start = many.model.start
        many.model.start = lambda tokens, params, start=start, seen=seen, **more: (
            seen.append(params.seed) or start(tokens, params, **more)
        )
        for repeat in range(2):
            many.arms()[TOGETHER](repeat)
        assert {*seen} == expected


def test_the_report_divides_speeds_of_one_repeat():
    runs = {
        ALONE: [Run(10, 1.0), Run(10, 2.0)],
        TOGETHER: [Run(30, 1.0), Run(30, 2.0)],
        SPECULATIVE: [Run(30, 0.5), Run(30, 1.0)],
        "other": [Run(15, 1.0), Run(15, 2.0)],
    }
    stats = measured(plan(), repeats=1)[TOGETHER][0].stats
    runs = {name: [Run(run.tokens, run.seconds, stats) for run in each] for name, each in runs.items()}
    found = report(runs, plan())
    assert {name: ratio["median"] for name, ratio in found["gain_over"].items()} == {
        ALONE: 3.0, SPECULATIVE: 0.5, "other": 2.0,
    }  # fmt: skip
    assert found["speculative_gain"]["median"] == 2.0
    assert found["tokens_per_second"]["other"]["median"] == 11.25
    assert 0 < found["other_fraction"][TOGETHER] <= 1


def test_unknown_and_absent_systems(monkeypatch):
    with pytest.raises(BadParameter, match=r"peers: got 'gpt'; choose among openvino-genai, transformers"):
        peer("gpt")
    monkeypatch.setitem(PEERS, "absent", "truedraw.bench.peers.absent:Absent")
    with pytest.raises(BadParameter, match=r"absent is not installed .*; run: pip install 'truedraw\[peers\]'"):
        peer("absent")


def test_no_run_finds_what_another_one_computed():
    with load("smollm2-135m") as model:
        many = Many(model, tuple(range(64)), replace(PARAMS, max_tokens=40), Speculation(method="none"), {})
        runs = measured(many, repeats=1)
        use = model.engine.cache_use()
        pages = report(runs, many)["pages"]
    assert use.tokens_found == 0
    assert pages["held"] <= pages["needed"]
