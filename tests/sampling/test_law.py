"""Logits to p against its definition in plain Python, over rows that break careless code."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_laws import transformed
from truedraw.errors import EngineError
from truedraw.sampling.law import SamplingLaw, log_probability, softmax
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.truncate import top_p, typical_p

CLOSE = 1e-9

rows = st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.5, 3.5, 10.0]), min_size=2, max_size=9)
masses = st.sampled_from([0.05, 0.3, 0.62, 0.9, 1.0])


@settings(max_examples=400, deadline=None)
@given(
    rows,
    st.sampled_from([0, 0.3, 1.0, 2.5]),
    st.integers(-1, 9),
    masses,
    st.sampled_from([0, 0.2, 1]),
    masses,
)
def test_the_law_is_its_definition(weights, temperature, k, mass, ratio, typical) -> None:
    if not any(weights):
        return
    weights = [w / sum(weights) for w in weights]
    params = SamplingParams(temperature=temperature, top_k=k, top_p=mass, min_p=ratio, typical_p=typical)
    with np.errstate(divide="ignore"):
        p = SamplingLaw(params)(np.log(np.array(weights)))
    assert p.sum() == pytest.approx(1)
    edges = itertools.product((-CLOSE, 0, CLOSE), repeat=3)  # a sum that lands on the mass may round to either side
    laws = [transformed(weights, temperature, max(k, 0), mass + a, min(ratio + b, 1), typical + c) for a, b, c in edges]
    assert min(np.abs(p - law).max() for law in laws) < CLOSE


@pytest.mark.parametrize("size", [50, 3000, 49152])
@pytest.mark.parametrize("temperature", [0.6, 1.0, 3.0])
def test_nucleus_and_typical_sets_on_long_rows(size: int, temperature: float) -> None:
    """The search for the set never changes it, whatever number of candidates it starts from."""
    p = softmax(np.random.default_rng(size).normal(0, 3, size).astype(np.float32), temperature)
    surprise = -np.log(p)
    for truncation, key in ((top_p, -p), (typical_p, np.abs(surprise - p @ surprise))):
        for mass in (0.01, 0.5, 0.95, 0.999999):
            order = np.argsort(key, kind="stable")
            count = int(np.argmax(np.cumsum(p[order]) >= mass)) + 1
            assert set(np.flatnonzero(truncation(p, mass))) == set(order[:count])


def test_equal_candidates_are_cut_by_id() -> None:
    flat = np.zeros(6, dtype=np.float32)
    for params in ({"top_k": 2}, {"top_p": 0.32}, {"typical_p": 0.32}):
        assert np.flatnonzero(SamplingLaw(SamplingParams(**params))(flat)).tolist() == [0, 1]
    assert SamplingLaw(SamplingParams(temperature=0))(flat).tolist() == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("row", [[1e30, 0, -1e30], [-1e-40, 0, 1e-40], [-np.inf, 3, -np.inf], [5.0, 5.0, -np.inf]])
@pytest.mark.parametrize("temperature", [1e-300, 0.01, 1.0, 1e6])
def test_extreme_rows_have_a_law(row, temperature) -> None:
    p = SamplingLaw(SamplingParams(temperature=temperature, top_p=0.9))(np.array(row, dtype=np.float32))
    assert p.sum() == pytest.approx(1)
    assert (p[np.isneginf(row)] == 0).all()


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_rows_without_a_law_are_refused(row) -> None:
    with pytest.raises(EngineError, match="logits"):
        SamplingLaw(SamplingParams())(np.array(row, dtype=np.float32))


def test_log_probability_is_of_the_untransformed_law() -> None:
    logits = np.random.default_rng(1).normal(0, 4, 49152).astype(np.float32)
    expected = np.log(softmax(logits, 1.0))
    assert [log_probability(logits, t) for t in (0, 77, 49151)] == pytest.approx(expected[[0, 77, 49151]].tolist())
