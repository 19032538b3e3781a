"""Tuning: who is measured, in which order and for how long, and what follows from it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.test_report import pair
from truedraw import load
from truedraw.bench.pairs import PLAIN, Task
from truedraw.bench.tried import READY, tried
from truedraw.bench.tune import CLEARLY, LOOKS, Candidate, Tuning, by_turns, candidates, give_up_losers
from truedraw.bench.tuned_file import tuned_file
from truedraw.bench.verdict import ranking, verdict
from truedraw.errors import BadParameter, TruedrawError
from truedraw.generate.model import Model
from truedraw.generate.speculation import speculation
from truedraw.sampling.params import SamplingParams

PARAMS = SamplingParams(seed=4, max_tokens=12, ignore_eos=True)
TASKS = [Task("a", (0, 1)), Task("a", (0, 2)), Task("b", (1, 2))]
FEW = ({"method": "ngram"}, {"method": "suffix"})


class Clock:
    """A run takes a second."""

    def __init__(self) -> None:
        self.now, self.calls = 100.0, list[tuple[object, int | None, tuple[int, ...], int]]()

    def __call__(self) -> float:
        return self.now

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        generate = Model.generate

        def counted(model, tokens, params, speculative):
            self.now += 1
            self.calls.append((speculative, params.seed, tuple(tokens), params.max_tokens))
            return generate(model, tokens, params, speculative=speculative)

        monkeypatch.setattr(Model, "generate", counted)


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    found.watch(monkeypatch)
    return found


def run(tuning: Tuning) -> Tuning:
    for _ in tuning.steps():
        pass
    return tuning


def candidate(name: str, speeds: list[float], config=None, category: str = "a") -> Candidate:
    """One with a pair a prompt."""
    given = config or {"method": name}
    done = [pair(task, category, speed, 1.0) for task, speed in enumerate(speeds)]
    return Candidate(name, given, speculation(given), load("tabular"), done)


# ------------------------------------------------------------------------------------------------------- measuring


def test_every_prompt_is_run_by_everybody_in_changing_order(clock):
    tuning = run(Tuning(PARAMS, TASKS, candidates(load("tabular"), FEW), seconds=3 + 9, clock=clock))
    measured = clock.calls[3:]
    kinds = ["plain" if call[0] is PLAIN else call[0].method for call in measured]
    assert kinds[:9] == ["plain", "ngram", "suffix", "ngram", "suffix", "plain", "suffix", "plain", "ngram"]
    assert [call[2] for call in measured[:9:3]] == [(0, 1), (1, 2), (0, 2)]  # one of each category first
    assert [[done.task for done in each.pairs][:3] for each in tuning.candidates] == [[0, 1, 2]] * 2
    assert all(done.identical for each in tuning.candidates for done in each.pairs)


def test_it_ends_in_time_but_measures_one_prompt_whole(clock):
    tuning = run(Tuning(PARAMS, TASKS, candidates(load("tabular"), FEW), seconds=0.5, clock=clock))
    assert [len(each.pairs) for each in tuning.candidates] == [1, 1]
    tuning = run(Tuning(PARAMS, TASKS, candidates(load("tabular"), FEW), seconds=10, clock=clock))
    assert tuning.elapsed <= 11
    assert {len(each.pairs) for each in tuning.candidates} <= {2, 3}


def test_repetitions_have_seeds_of_their_own(clock):
    run(Tuning(PARAMS, TASKS[:1], candidates(load("tabular"), FEW), seconds=11, clock=clock))
    assert [call[1] for call in clock.calls[3:9]] == [4, 4, 4, 5, 5, 5]


def test_behind_the_last_seed_comes_the_first(clock):
    last = replace(PARAMS, seed=2**64 - 1)
    run(Tuning(last, TASKS[:1], candidates(load("tabular"), FEW), seconds=11, clock=clock))
    assert [call[1] for call in clock.calls[3:9]] == [2**64 - 1] * 3 + [0] * 3


def test_without_a_seed_every_run_draws_anew(clock):
    few = candidates(load("tabular"), FEW)
    tuning = run(Tuning(replace(PARAMS, seed=None), TASKS[:1], few, seconds=17, clock=clock))
    assert {call[1] for call in clock.calls} == {None}
    assert tuning.candidates[0].to_dict()["identical_texts"] is None
    assert {pair.identical for each in tuning.candidates for pair in each.pairs} == {None}


def test_one_that_cannot_run_is_no_reason_to_stop(clock):
    found = candidates(load("tabular"), (*FEW, {"method": "early-exit"}, {"method": "model", "model": "nowhere.gguf"}))
    tuning = run(Tuning(PARAMS, TASKS, found, seconds=20, clock=clock))
    assert [each.failed for each in tuning.candidates] == [False, False, True, True]
    assert "runs the first layers alone" in (tuning.candidates[2].given_up or "")
    assert "early-exit" in ranking(tuning.candidates)[2]
    assert not tuning.candidates[2].pairs


def test_one_whose_drafter_fails_on_the_way_is_not_measured_on(monkeypatch, clock):
    from truedraw.draft.ngram import NgramDrafter

    def broken(*_):
        raise ValueError("no idea")

    monkeypatch.setattr(NgramDrafter, "propose", broken)
    tuning = run(Tuning(PARAMS, TASKS, candidates(load("tabular"), FEW), seconds=10, clock=clock))
    assert tuning.candidates[0].failed
    assert "no idea" in (tuning.candidates[0].given_up or "")
    assert not tuning.candidates[0].pairs
    assert tuning.candidates[1].pairs


def test_what_one_candidate_learns_is_not_known_to_another():
    found = candidates(load("tabular"), FEW)
    assert len({id(each.model.experience) for each in found}) == len(found)
    assert len({id(each.model.engine) for each in found}) == 1


def test_equal_configs_are_measured_once_and_names_differ():
    twice = candidates(load("tabular"), (*READY, {"method": "ngram"}, {"method": "ngram", "prompt_lookup_max": 9}))
    assert len(twice) == len(READY) + 1
    assert len({each.name for each in twice}) == len(twice)
    with pytest.raises(TruedrawError, match="speed"):
        candidates(load("tabular"), [{"speed": 9}])


def lent(**changes: Any) -> Model:
    """The toy, whose drafts know of something that it does not have."""
    model = load("tabular")
    for name, value in changes.items():
        setattr(model.drafts, name, value)
    return model


class Layers:
    """Of an engine that can run the first ones alone."""

    num_layers = 8

    def shallow(self, layers: int) -> Any:
        """None that can be run."""
        raise NotImplementedError


@pytest.mark.parametrize(
    ("kinds", "added"), [((), ["head (always 1)", "head-ngram"]), (("eagle",), ["eagle"]), (("mtp", "eagle"), ["mtp"])]
)
def test_the_draft_that_a_model_was_loaded_for_is_tried(monkeypatch, kinds, added):
    for kind in ("eagle", "mtp"):
        monkeypatch.setattr(f"truedraw.generate.draft_choice.is_{kind}", lambda _path, kind=kind: kind in kinds)
    found = candidates(load("tabular"), tried(lent(head_path=Path("a.head"))))
    assert [each.name for each in found[len(READY) :]] == added


@pytest.mark.parametrize(("weights", "added"), [("auto", ["early-exit", "quantised-self"]), ("int4", ["early-exit"])])
def test_what_the_model_itself_can_draft_is_tried(weights, added):
    model = lent(options={"weights": weights})
    assert tried(model) == READY  # a table has no layers
    model.engine = Layers()
    assert [config["method"] for config in tried(model)[len(READY) :]] == added


def test_an_amateur_is_tried():
    model = load("tabular")
    model.drafts.lent.add("worse", load("tabular"))
    assert tried(model) == (*READY, {"method": "model", "model": "worse"})


def test_by_turns():
    kinds = [Task(kind, (number,)) for kind, number in (("a", 0), ("a", 1), ("a", 2), ("b", 3), ("c", 4), ("c", 5))]
    assert [task.tokens[0] for task in by_turns(kinds)] == [0, 3, 4, 1, 5, 2]


def test_clear_losers_are_given_up_and_close_ones_are_not():
    best, close, loser = (candidate(name, [base + 0.01 * i for i in range(8)]) for name, base in
                          (("ngram", 1.5), ("suffix", 1.48), ("recycle", 1.2)))  # fmt: skip
    slow = candidate("lookahead", [0.8, 0.82, 0.81, 0.8])
    give_up_losers([best, close, loser, slow])
    assert [each.given_up is None for each in (best, close, loser, slow)] == [True, True, False, False]
    assert "of the speed of ngram" in (loser.given_up or "")
    assert "of the speed of plain sampling" in (slow.given_up or "")
    one = candidate("suffix", [0.5 * CLEARLY])
    give_up_losers([one])
    assert one.given_up is None  # one prompt says nothing of the spread


def at_speeds(monkeypatch: pytest.MonkeyPatch, speeds: Mapping[str, float]) -> None:
    """Runs take as long as their method's speed says, whatever they take; plain ones a second a token."""
    generate = Model.generate

    def timed(model, tokens, params, speculative):
        done = generate(model, tokens, params, speculative=speculative)
        return replace(done, stats=replace(done.stats, seconds=done.stats.tokens / speeds.get(speculative.method, 1.0)))

    monkeypatch.setattr(Model, "generate", timed)


@pytest.mark.parametrize(("auto", "stays"), [(1.2, LOOKS[1]), (0.6, LOOKS[1]), (1.49, None)])
def test_losers_are_given_up_at_the_looks_and_auto_not_at_the_first(monkeypatch, clock, auto, stays):
    at_speeds(monkeypatch, {"ngram": 1.5, "suffix": 1.2, "auto": auto})
    tasks = [Task("a", (0, number % 4)) for number in range(8)]
    found = candidates(load("tabular"), ({"method": "auto"}, *FEW, {"method": "lookahead"}))
    run(Tuning(PARAMS, tasks, found, seconds=60, clock=clock))
    pairs = {each.name: len(each.pairs) if each.given_up else None for each in found}
    assert pairs == {"auto": stays, "ngram": None, "suffix": LOOKS[0], "lookahead": LOOKS[0]}


# --------------------------------------------------------------------------------------------------------- verdict


def words(*given: Candidate) -> tuple[str, str]:
    found = verdict(given)
    return found.name, " ".join(found.reasons)


def test_the_fastest_beyond_doubt():
    name, why = words(candidate("auto", 2 * [1.1, 1.12, 1.11, 1.1]), candidate("ngram", 2 * [1.5, 1.6, 1.55, 1.5]))
    assert name == "ngram"
    assert "ngram with 1.52 (1.50 to 1.60) of plain sampling's speed on 8 prompts" in why
    assert "of the speed of auto" in why


def test_auto_where_the_fastest_is_not_surely_faster():
    name, why = words(candidate("auto", 2 * [1.5, 1.6, 1.5, 1.6]), candidate("ngram", 2 * [1.4, 1.8, 1.45, 1.7]))
    assert name == "auto"
    assert "may be luck" in why


def test_luck_is_not_taken_for_speed():
    name, why = words(candidate("auto", 2 * [1.1, 1.2, 1.1, 1.2]), candidate("suffix", 2 * [0.7, 2.5, 0.8, 2.4]))
    assert name == "auto"
    assert "suffix had 1.60 (0.70 to 2.50), which may be luck" in why


def test_of_many_that_gain_nothing_none_is_fastest_beyond_doubt():
    chance = np.random.default_rng(4)
    for prompts in (2, 4, 8, 13, 30):
        sure = 0
        for _ in range(40):
            speeds = chance.normal(1, 0.05, (12, prompts)).tolist()
            sure += "The fastest beyond doubt" in words(*(candidate("ngram", each) for each in speeds))[1]
        assert sure <= 6, (prompts, sure)  # of 40 two are expected at most


def test_lossy_rules_are_not_weighed():
    lossy = {"method": "ngram", "rejection_sample_method": "typical", "allow_lossy": True}
    with pytest.raises(BadParameter, match="typical does not keep the model's distribution"):
        candidates(load("tabular"), (lossy,))


def test_plain_sampling_where_nothing_gains():
    name, why = words(candidate("auto", [0.97, 0.98, 0.98, 0.99]), candidate("ngram", [0.8, 0.7, 0.9, 0.8]))
    assert name == "plain sampling"
    assert "Plain sampling is best: the fastest candidate was auto with 0.98" in why


def test_doubt_leaves_the_default():
    name, why = words(candidate("auto", [0.98, 1.03, 1.02, 0.99]), candidate("ngram", [0.8, 1.3, 0.9, 1.4]))
    assert name == "auto"
    assert "beyond doubt" in why
    assert words(candidate("ngram", [0.8, 1.3, 0.9, 1.4]))[0] == "plain sampling"
    assert words(candidate("ngram", [1.4]))[0] == "plain sampling"


def test_a_default_that_lost_is_not_left_because_another_had_luck():
    name, why = words(candidate("auto", [0.75, 0.85, 1.14]), candidate("head", [0.9, 1.05, 1.4]))
    assert name == "plain sampling"
    assert "auto had 0.85 (0.75 to 1.14)." in why


@pytest.mark.parametrize(("tried", "least"), [(1, 5), (2, 6), (14, 9)])
def test_too_few_prompts_are_said(tried, least):
    def tuned(prompts):
        return words(*(candidate("ngram", prompts * [2.0]) for _ in range(tried)))

    name, why = tuned(least - 1)
    assert name == "plain sampling"
    assert f"{least - 1} prompts are too few to tell" in why
    assert f"at least {least} are needed." in why
    assert tuned(least)[0] == "ngram"
    assert "too few" not in tuned(least)[1]


def test_failures_are_never_chosen():
    failed = candidate("ngram", [2.0, 2.1, 2.0])
    failed.failed = True
    assert words(failed) == ("plain sampling", "No candidate could be measured.")


def test_kinds_of_prompts_are_told_apart():
    mixed = candidate("ngram", 3 * [1.5, 1.6, 1.5])
    mixed.pairs += candidate("ngram", [*9 * [9], 2.5, 2.4], category="b").pairs[9:]
    assert "By kind of prompt: a 1.50, b 2.45." in words(mixed)[1]


# ------------------------------------------------------------------------------------------------------------ file


def test_the_file_is_toml_whatever_stands_in_it():
    odd = 'a\tb"c\\d\x7f\x00\x1fé\U0001f600\u2028'
    config = {"method": "suffix", "suffix_decoding_index": odd}
    text = tuned_file(
        config, [["First", f"odd {odd}\nmodel = 3"], ["word " * 60]], {"model": odd, "threads": 2}, ["a", "b"]
    )
    found = tomllib.loads(text)
    assert found["a"] == found["b"]
    assert (found["a"]["model"], found["a"]["threads"]) == (odd, 2)
    assert json.loads(found["a"]["speculative-config"]) == config
    assert max(map(len, text.partition("[a]")[0].splitlines())) <= 120


def test_a_simple_config_is_written_as_flags_that_can_be_overridden_one_by_one():
    found = tomllib.loads(tuned_file({"method": "model", "model": "x", "num_speculative_tokens": 3}, [], {}, ["chat"]))
    assert found == {"chat": {"spec-method": "model", "spec-model": "x", "spec-tokens": 3}}
