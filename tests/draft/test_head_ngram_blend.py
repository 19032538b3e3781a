"""Two laws as one row: the mixture by its definition, whichever tokens each of them knows."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.draft.head_ngram_blend import Blender
from truedraw.draft.ngram_lm_source import Counted
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening

VOCAB = 40
CASES = {
    "both know all": (range(VOCAB), range(VOCAB)),
    "some of each alone": ((0, 3, 4, 9, 20, 39), (39, 1, 4, 38, 0, 12)),
    "counts know the ends": ((5, 6, 7), (39, 0)),
    "nothing in common": ((0, 2, 4), (3, 1, 5)),
    "counts within": ((0, 2, 4, 6), (4, 2)),
    "one token each": ((7,), (3,)),
}


def parts(case, seed=1):
    """A blender, logits of a head, counts whose tokens stand in no order, and both laws [vocab]."""
    known, counted = (np.array(list(each), np.int64) for each in CASES[case])
    rng = np.random.default_rng(seed)
    said, c = (rng.normal(size=len(known)) * 3 + 11).astype(np.float32), rng.dirichlet(np.ones(len(counted)))
    laws = np.zeros((2, VOCAB))
    laws[0, known] = np.exp(said.astype(np.float64)) / np.exp(said.astype(np.float64)).sum()
    laws[1, counted] = c
    return Blender(known, VOCAB), said, Counted(counted, c), laws


@pytest.mark.parametrize("weight", [0.02, 0.4, 0.95])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_mixture(case, weight) -> None:
    blender, said, counted, laws = parts(case)
    row = blender.row(said, counted, weight)
    expected = (1 - weight) * laws[0] + weight * laws[1]
    assert row.reading.tokens.tolist() == np.flatnonzero(expected).tolist()
    law = row.reading.law(row.logits, SamplingLaw(sampling_params({})))
    np.testing.assert_allclose(law.dense(), expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("params", [
    {"temperature": 0.5}, {"temperature": 0.0}, {"top_k": 3}, {"top_p": 0.6}, {"logit_bias": {4: 2.0}},
    {"bad_words": [[3]]},
], ids=str)  # fmt: skip
def test_a_law_is_applied_to_the_mixture(params) -> None:
    blender, said, counted, laws = parts("some of each alone")
    law = SamplingLaw(sampling_params(params), Opening((0,), VOCAB))
    row = blender.row(said, counted, 0.3)
    with np.errstate(divide="ignore"):
        logits = np.log(0.7 * laws[0] + 0.3 * laws[1]).astype(np.float32)
    np.testing.assert_allclose(row.reading.law(row.logits, law).dense(), law(logits), rtol=1e-4, atol=1e-9)


def test_logits_stay_as_large_as_the_heads() -> None:
    """A penalty that divides acts on positive and on negative logits in other ways."""
    blender, said, counted, _ = parts("both know all")
    top, total = blender.row(said, counted, 0.1).logits.max(), np.log(np.exp(said.astype(np.float64)).sum())
    assert said.max() + np.log(0.9) - 1e-3 < top < total


def test_without_counts_it_is_the_head() -> None:
    blender, said, _, _ = parts("counts within")
    row = blender.row(said, None, 0.85)
    assert row.logits is said
    assert row.reading.tokens.tolist() == [0, 2, 4, 6]


def test_nothing_is_written_into_what_it_is_given() -> None:
    blender, said, counted, _ = parts("some of each alone")
    before = said.copy(), *(each.copy() for each in counted)
    blender.row(said, counted, 0.5)
    for was, now in zip(before, (said, *counted), strict=True):
        assert np.array_equal(was, now)


def test_what_is_impossible_to_one_comes_from_the_other() -> None:
    blender, said, counted, laws = parts("both know all")
    said[:20] = -np.inf
    law = blender.row(said, counted, 0.5).reading.law(
        blender.row(said, counted, 0.5).logits, SamplingLaw(sampling_params({}))
    )
    np.testing.assert_allclose(law.dense()[:20], 0.5 * laws[1, :20], rtol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_logits_that_are_no_numbers_are_no_law(value) -> None:
    from truedraw.errors import EngineError

    blender, said, counted, _ = parts("some of each alone")
    said[2] = value
    row = blender.row(said, counted, 0.5)
    with pytest.raises(EngineError):
        row.reading.law(row.logits, SamplingLaw(sampling_params({})))


def test_rows_of_another_kind_of_number() -> None:
    blender, said, counted, laws = parts("counts within")
    wide = np.ascontiguousarray(np.stack([said, said], 1).astype(np.float64))[:, 0]
    row = blender.row(wide, counted, 0.4)
    assert row.logits.dtype == np.float32
    law = row.reading.law(row.logits, SamplingLaw(sampling_params({})))
    np.testing.assert_allclose(law.dense(), 0.6 * laws[0] + 0.4 * laws[1], rtol=1e-4, atol=1e-9)
