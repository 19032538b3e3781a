"""What a card says of an evaluation."""

import json

import pytest

from bench.draft_eval.tables import toy_with_head
from truedraw.bench.draft_eval.conditions import digest_of
from truedraw.bench.draft_eval.figures import figures, weak_places
from truedraw.bench.draft_eval.plan import Plan
from truedraw.bench.draft_eval.report import evaluated
from truedraw.bench.pairs import Task
from truedraw.bench.provenance import settings
from truedraw.generate.speculation import Speculation

TODO = [Task("cats", (0, 1)), Task("cats", (0, 2)), Task("dogs", (0, 3)), Task("dogs", (1,))]


@pytest.fixture(scope="module")
def found():
    """As `truedraw train eval` finds it."""
    model = toy_with_head()
    plan = Plan(model, Speculation("head"), TODO, repeats=0)
    sections = [evaluated(plan, model.params(seed=1, max_tokens=24, ignore_eos=True, temperature=at), lambda _: None)
                for at in (1.0, 0.0)]  # fmt: skip
    return {
        "prompts": 4,
        "prompts_from": "odd.jsonl",
        "prompts_digest": digest_of(TODO),
        "temperatures": sections,
        **settings(model.params(seed=1, max_tokens=24, ignore_eos=True), plan.speculation),
    }


def test_a_category_has_what_all_together_have(found):
    for section in found["temperatures"]:
        parts = section["by_category"]
        assert [*parts] == ["cats", "dogs"]
        assert sum(each["texts"] for each in parts.values()) == section["texts"] == 4
        assert sum(each["places"] for each in parts.values()) == section["places"]
        for rule in ("p/q", "coupled"):
            whole, mine = section["tokens_per_round"][rule], [each["tokens_per_round"][rule] for each in parts.values()]
            for kind in ("chain", "tree"):
                assert {len(each[kind]) for each in mine} == {len(whole[kind])}
                for place, value in enumerate(whole[kind]):
                    means = [each[kind][place]["mean"] for each in mine]
                    assert min(means) - 1e-9 <= value["mean"] <= max(means) + 1e-9
            assert {str(each["shape"]) for each in mine} == {str(whole["shape"])}


def test_figures_are_short_and_stand_beside_those_of_other_prompts(found):
    training = {"evaluated": {"spec.jsonl": {"prompts": 9}}, "seed": 3}
    made = figures(found, training)["evaluated"]
    assert [*made] == ["spec.jsonl", "odd.jsonl"]
    mine = made["odd.jsonl"]
    assert (mine["prompts"], mine["max_tokens"], mine["seed"], [*mine["temperatures"]]) == (4, 24, 1, ["1", "0"])
    one = mine["temperatures"]["1"]
    whole = found["temperatures"][0]
    assert one["acceptance"][0]["mean"] == pytest.approx(whole["acceptance"][0]["mean"], abs=1e-4)
    assert one["tokens_per_round"]["chain"][2]["mean"] == pytest.approx(
        whole["tokens_per_round"]["p/q"]["chain"][2]["mean"], abs=1e-4
    )
    assert {*one["by_category"]} == {"cats", "dogs"}
    assert len(json.dumps(mine, allow_nan=False)) < 20_000
    assert figures(found, {})["evaluated"] == {"odd.jsonl": mine}


def test_temperatures_of_the_same_prompts_and_settings_are_one_set(found):
    warm, cold = ({**found, "temperatures": [each]} for each in found["temperatures"])
    once = json.loads(json.dumps(figures(warm, {})))
    assert [*figures(cold, once)["evaluated"]["odd.jsonl"]["temperatures"]] == ["1", "0"]
    assert figures(cold, once)["evaluated"] == figures(found, {})["evaluated"]
    assert figures(warm, figures(found, {}))["evaluated"] == figures(found, {})["evaluated"]
    named = {**found, "speculation": {**found["speculation"], "head_path": "other.safetensors"}}
    assert [*figures(named, once)["evaluated"]] == ["odd.jsonl"]


@pytest.mark.parametrize("changed", [
    {"prompts_digest": digest_of(TODO[::-1])},
    {"numerics": "reference"},
    {"sampling": {"seed": 2}},
    {"sampling": {"max_tokens": 9}},
    {"sampling": {"top_p": 0.9}},
    {"speculation": {"draft_temperature": 1.0}},
], ids=str)  # fmt: skip
def test_nothing_of_other_prompts_or_settings_is_replaced(found, changed):
    first = figures(found, {})
    other = {**found, **{name: {**found[name], **value} if isinstance(value, dict) else value
                         for name, value in changed.items()}}  # fmt: skip
    both = figures(other, first)
    assert [*both["evaluated"]] == ["odd.jsonl", "odd.jsonl (2)"]
    assert both["evaluated"]["odd.jsonl"] == first["evaluated"]["odd.jsonl"]
    assert figures(other, both) == both
    assert [*figures({**other, "prompts": 3}, both)["evaluated"]][2:] == ["odd.jsonl (3)"]


def test_weak_places_are_those_that_cannot_be_chance():
    def first(mean, high):
        return {"acceptance": [{"mean": mean, "low": mean - 0.1, "high": high}]}

    categories = {
        "code": first(0.2, 0.3),
        "prose": first(0.38, 0.45),
        "one": first(0.1, None),
        "none": {"acceptance": [None]},
    }
    section = {**first(0.4, 0.5), "by_category": categories}
    assert weak_places({"temperatures": {"1": section}}) == [
        "code, T = 1: 0.200 (0.100 to 0.300) of first drafts kept, 0.400 over all"
    ]
