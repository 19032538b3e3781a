"""Rows of a proposal, by the text that leads to them."""

from __future__ import annotations

import numpy as np

from known_laws import random_table
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.rows import LawRows
from truedraw.protocol import NOTHING, ROOT, Proposal, Scores, Work
from truedraw.sampling.law import SamplingLaw, softmax
from truedraw.sampling.params import SamplingParams


def test_equal_siblings_are_one_text() -> None:
    """Two independent paths 1 0 and 1 2 stand as two chains: the text 1 2 is found although 1 stands twice."""
    engine = TabularEngine(random_table(3, 3, 5))
    sequence = engine.open([0])
    paths = Proposal(np.array([1, 0, 1, 2]), np.array([ROOT, 0, ROOT, 2]), (None,) * 4)
    scores = engine.forward([Work(sequence, paths)])[0]
    rows = LawRows(SamplingLaw(SamplingParams()), paths, scores)
    before, after = rows.logprobs([1, 2, 0])
    expected = [np.log(softmax(scores.logits[row], 1.0)[token]) for row, token in ((0, 1), (1, 2), (4, 0))]
    assert np.allclose(before, expected)
    assert np.allclose(after, expected)


def test_no_token_is_more_than_certain() -> None:
    """The others are told by the logarithm of the one that was drawn, which is rounded."""
    scores = Scores(np.array([[0.0, 40.0]], np.float32))
    rows = LawRows(SamplingLaw(SamplingParams()), NOTHING, scores)
    assert rows.top_logprobs([0], [float(np.nextafter(-40.0, 0.0))], 1) == (((1, 0.0),),)
