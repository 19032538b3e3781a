"""Mappings among the parameters stay as they were checked."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict, replace

import pytest

from truedraw.generate.speculation import Speculation
from truedraw.sampling.fixed_dict import FixedDict
from truedraw.sampling.params import SamplingParams

CHANGES = {
    "set": lambda found: found.__setitem__(1, 2.0),
    "delete": lambda found: found.__delitem__(1),
    "update": lambda found: found.update({1: 2.0}),
    "or": lambda found: found.__ior__({1: 2.0}),
    "default": lambda found: found.setdefault(3, 2.0),
    "pop": lambda found: found.pop(1),
    "popitem": lambda found: found.popitem(),
    "clear": lambda found: found.clear(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_changes_it(change: str) -> None:
    found = FixedDict({1: 1.0})
    with pytest.raises(TypeError, match="stay as they were checked"):
        CHANGES[change](found)
    assert found == {1: 1.0}


def test_it_is_copied_and_pickled() -> None:
    found = FixedDict({1: [1.0]})
    for again in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert type(again) is FixedDict
        assert again == found
    assert copy.deepcopy(found)[1] is not found[1]


def test_parameters_are_fixed_whole() -> None:
    given = {1: 2.0}
    params = SamplingParams(logit_bias=given, schedule={"temperature": [[0, 1.0], [9, 0.5]]})
    given[1] = 9.0
    assert params.logit_bias == {1: 2.0}
    with pytest.raises(TypeError, match="stay"):
        params.logit_bias[1] = float("nan")  # type: ignore[index]
    with pytest.raises(TypeError, match="stay"):
        params.schedule["temperature"] = ((0, -1.0),)  # type: ignore[index]
    assert replace(params, logit_bias=params.logit_bias) == params == pickle.loads(pickle.dumps(params))
    assert asdict(params)["logit_bias"] == {1: 2.0}


def test_a_speculation_is_fixed_and_can_be_replaced() -> None:
    found = Speculation("ngram", prompt_lookup_max=4)
    with pytest.raises(TypeError, match="stay"):
        found.settings["prompt_lookup_max"] = -1  # type: ignore[index]
    changed = replace(found, num_speculative_tokens=2)
    assert changed == Speculation("ngram", prompt_lookup_max=4, num_speculative_tokens=2)
    assert changed == pickle.loads(pickle.dumps(changed))
