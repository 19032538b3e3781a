"""Answers to given prompts: each temperature in turn, and no text twice that can only be the same."""

from itertools import islice

import pytest

from models.tiny_models import random_tensors, tiny_config, write_gguf
from truedraw.distill import own_texts as source
from truedraw.distill.own_texts import Plan, own_texts
from truedraw.errors import BadParameter
from truedraw.generate.loading import load
from truedraw.sampling.params import SamplingParams


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    config = tiny_config()
    path = write_gguf(folder / "tiny.gguf", config, random_tensors(config))
    with load(path, cache=folder / "cache", draft="none") as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def short_answers(monkeypatch):
    """Count, too: which ones a random model ends early is chance."""
    monkeypatch.setattr(source, "LEAST_ANSWER", 1)


def answered(temperatures, *asked, **changes):
    return Plan(answer_tokens=12, asked=asked, temperatures=temperatures, **changes)


@pytest.mark.parametrize("asked", [("prompt",), ("prompt", "another", "a third")])
def test_each_prompt_is_answered_at_each_temperature_in_turn(model, asked):
    temperatures = (1.0, 0.7, 0.3)
    found = list(islice(own_texts(model, answered(temperatures, *asked)), 12))
    for record in found:
        number, i = record["key"]
        assert record["temperature"] == temperatures[(number + i) % 3]
    for i in range(len(asked)):
        assert {record["temperature"] for record in found if record["key"][1] == i} == set(temperatures)


def test_greedy_answers_end_with_the_prompts(model):
    plan = answered((0.0, 0.0), "prompt 1", "prompt 2", "prompt 1")
    found = list(own_texts(model, plan))
    assert sorted(record["key"] for record in found) == [[0, 0], [0, 1]]
    assert not list(own_texts(model, plan, found))
    first = [record for record in found if record["key"] == [0, 0]]
    assert [record["key"] for record in own_texts(model, plan, first)] == [[0, 1]]


def test_nothing_is_added_to_greedy_answers_of_earlier_rounds(model):
    """As versions wrote them that answered again and again."""
    plan = answered((0.0,), "prompt 1", "prompt 2")
    (one, other) = own_texts(model, plan)
    before = [{**each, "key": [number, each["key"][1]]} for number in range(5) for each in (one, other)]
    assert not list(own_texts(model, plan, before))


def test_a_greedy_answer_comes_once_beside_others(model):
    plan = answered((1.0, 0.0, 0.0, 0.0, 0.0), "prompt")
    found = list(islice(own_texts(model, plan), 4))
    assert [record["temperature"] for record in found].count(0.0) == 1
    rest = list(islice(own_texts(model, plan, found), 2))
    assert [record["temperature"] for record in rest] == [1.0, 1.0]


def test_a_prompt_that_has_no_answers_ends_it_once_each_temperature_was_tried(model, monkeypatch):
    monkeypatch.setattr(source, "LEAST_ANSWER", 100)
    with pytest.raises(BadParameter, match="wrote no text in 6 rounds"):
        list(own_texts(model, answered((1.0, 0.5), "prompt")))


def test_every_seed_has_seeds_of_texts_behind_it(model):
    plan = answered((1.0,), "prompt", seed=2**64 - 1)
    (request,) = source._requests(model, plan, 0, [(7, "prompt")])
    assert request.params["seed"] == source.PURPOSES + 6
    SamplingParams(**request.params)


def test_what_is_begun_when_the_time_is_up_is_written_to_its_end(model):
    plan = answered((1.0, 0.7), *(f"prompt {i}" for i in range(5)), least_begun=2)
    found = list(own_texts(model, plan, goes_on=lambda: False))
    assert sorted(record["key"] for record in found) == [[0, 0], [0, 1]]
    rest = list(own_texts(model, plan, found, goes_on=lambda: False))
    assert sorted(record["key"] for record in rest) == [[0, 2], [0, 3]]


def test_prompts_that_need_no_answer_are_not_of_those_that_are_begun(model):
    plan = answered((0.0, 1.0), *(f"prompt {i}" for i in range(6)), least_begun=2)
    greedy = [record for record in islice(own_texts(model, plan), 12) if record["temperature"] == 0]
    before = [{**record, "key": [2, 100 + i]} for i, record in enumerate(greedy)]
    found = list(own_texts(model, plan, before, goes_on=lambda: False))
    assert [record["temperature"] for record in found] == [1.0, 1.0]


def test_rounds_go_on_as_long_as_there_is_time(model):
    left = iter([True] * 6)
    plan = answered((1.0, 0.7), "prompt", "another", least_begun=1)
    found = [record["key"] for record in own_texts(model, plan, goes_on=lambda: next(left, False))]
    assert [number for number, _ in found] == sorted(number for number, _ in found)
    assert found[-1][0] > 1


def test_a_run_that_goes_on_begins_where_it_was(model, monkeypatch):
    plan = answered((1.0, 0.7), "prompt", "another")
    found = list(islice(own_texts(model, plan), 5))
    asked = []
    monkeypatch.setattr(source, "_requests", lambda _model, _plan, number, texts: asked.append(number) or iter(()))
    with pytest.raises(BadParameter, match="wrote no text"):
        list(own_texts(model, plan, found))
    assert asked[0] == 2
