"""Bad parameters: one error each, that names the parameter, says what was given and what is allowed."""

from __future__ import annotations

import math

import pytest

from truedraw.errors import BadParameter
from truedraw.sampling.params import SamplingParams, sampling_params

BAD = [
    ("temperature", -0.1), ("temperature", math.nan), ("temperature", math.inf), ("temperature", "hot"),
    ("temperature", True), ("top_k", -2), ("top_k", 1.5), ("top_p", 0), ("top_p", 1.1), ("top_p", math.nan),
    ("min_p", -0.1), ("min_p", 2), ("typical_p", 0.0), ("n", 0), ("max_tokens", 0), ("stop", ("",)), ("stop", (3,)),
    ("stop_token_ids", (-1,)), ("ignore_eos", "yes"), ("seed", -5), ("seed", 2**64),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD)
def test_out_of_range(name, value) -> None:
    with pytest.raises(BadParameter, match=name) as caught:
        SamplingParams(**{name: value})
    assert caught.value.parameter == name


def test_an_unknown_parameter_is_an_error_that_lists_the_valid_ones() -> None:
    with pytest.raises(BadParameter, match=r"temprature.*temperature") as caught:
        sampling_params({"temprature": 1})
    assert caught.value.parameter == "temprature"


def test_the_request_comes_before_the_models_defaults() -> None:
    defaults = {"temperature": 0.2, "top_p": 0.9, "transformers_version": "5"}
    params = sampling_params({"temperature": 0.7, "top_k": None}, defaults)
    assert (params.temperature, params.top_p, params.top_k) == (0.7, 0.9, 0)


def test_one_stop_string_may_stand_alone() -> None:
    assert SamplingParams(stop="END").stop == ("END",)
