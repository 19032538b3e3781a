"""Of equal siblings one row counts, the same for the rules and for what is said of their tokens afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.generate.rows import LawRows
from truedraw.protocol import ROOT, Proposal, Scores
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw, log_probability
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.verify.proposals import mark_checked

TWINS = Proposal(np.array([1, 1]), np.array([ROOT, ROOT]), (None, None))
mark_checked(TWINS, 3)
LOGITS = np.array([[-9, 9, -9], [4, 0, 1], [0, 4, 1]], dtype=np.float32)
"""As of an engine whose rows are not the same in every pass: those of the two equal drafts differ."""


LAWS = [SamplingParams(), SamplingParams(mirostat=2), SamplingParams(repetition_penalty=1.2)]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("params", LAWS)
@pytest.mark.parametrize("name", ["coupled", "traversal"])
def test_a_token_behind_equal_drafts_is_told_of_by_the_row_it_was_drawn_from(
    name: str, params: SamplingParams, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = SamplingLaw(params, Opening((0,), 3))
    rows = LawRows(law, TWINS, Scores(LOGITS))
    asked = []
    rows_draw = rows.draw
    rows.draw = lambda row, *rest: (asked.append(row), rows_draw(row, *rest))[1]
    if not at_once:
        monkeypatch.setattr(LawRows, "decide", lambda *_: None)
    tokens = find("verifiers", name)()(TWINS, rows, PhiloxRandomness(3, 0), 5).tokens
    assert (len(tokens), tokens[0]) == (2, 1)
    assert asked[-1:] == ([] if at_once and params != LAWS[1] else [1])
    before, _ = rows.logprobs(tokens)
    assert before[1] == pytest.approx(log_probability(LOGITS[1], tokens[1]))
    assert rows.logits(tokens)[1].tolist() == LOGITS[1].tolist()
