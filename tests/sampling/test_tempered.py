"""A law at a multiple of its temperature is the law with that temperature, whatever else it does."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening

OTHERS = [
    {}, {"top_k": 3}, {"top_p": 0.8, "min_p": 0.05}, {"top_p": 0.8, "sampler_order": "llama.cpp"},
    {"repetition_penalty": 1.3}, {"typical_p": 0.6}, {"logit_bias": {2: 1.5}}, {"bad_words": [[1, 2]]},
    {"top_n_sigma": 1.5, "sampler_order": "vllm"}, {"sampler_order": ["top_p", "temperature"], "top_p": 0.7},
]  # fmt: skip


def law(**params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0, 1), 8, (3,), PhiloxRandomness(2)))


def row(seed=1):
    return np.random.default_rng(seed).normal(size=8).astype(np.float32) * 3


@pytest.mark.parametrize("others", OTHERS, ids=str)
@pytest.mark.parametrize("temperature", [1.0, 0.7, 0.0])
def test_it_is_the_law_of_that_temperature(others, temperature) -> None:
    found, expected = law(temperature=temperature, **others), law(temperature=2.5 * temperature, **others)
    assert found.temperature == temperature
    for text in ((), (1,), (1, 2, 4)):
        tempered, right = found.tempered(2.5), expected
        for token in text:
            tempered, right = tempered.after(token), right.after(token)
        np.testing.assert_array_equal(tempered(row()), right(row()))
    assert found.tempered(2.5).transform == expected.transform


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_a_temperature_that_is_no_number_is_multiplied_where_it_is_decided(ratio) -> None:
    dynamic = law(temperature=0.9, dynatemp_range=0.5)
    scheduled = law(schedule={"temperature": [[0, 0.5], [2, 1.5]]})
    assert dynamic.temperature is scheduled.temperature is None
    for temperature, each in ((0.5, scheduled), (1.0, scheduled.after(1)), (1.5, scheduled.after(1).after(2))):
        np.testing.assert_allclose(each.tempered(ratio)(row()), law(temperature=ratio * temperature)(row()))
    np.testing.assert_allclose(scheduled.tempered(ratio).after(1)(row()), law(temperature=ratio)(row()))
    p, q = dynamic(row()), dynamic.tempered(ratio)(row())
    np.testing.assert_allclose(np.log(q / q[0]), np.log(p / p[0]) / ratio)
