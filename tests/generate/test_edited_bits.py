"""Penalties, bias and bans in compiled code: a drafted text is the plain one, and so are its logarithms, bit for bit.

The oracle's tables are float64, which the kernels leave to the steps; here rows are float32, as a model's are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from truedraw.control.fixed import FixedController
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Together
from truedraw.registry import find
from truedraw.sampling.drawing import RowDraws
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import Scenario, TableDrafter, random_table
from truedraw.testing.runs import parts_of, started

VOCAB, END, TOKENS = 9, 0, 40
EDITS = {
    "repetition_penalty": 1.4, "frequency_penalty": 0.3, "presence_penalty": -0.2, "logit_bias": {4: 1.5, 2: -1.0},
    "no_repeat_ngram": 4, "bad_words": ((3, 3), (5, 1)), "min_tokens": TOKENS,
}  # fmt: skip
HOWS = [{}, {"temperature": 0.7}, {"temperature": 0.8, "top_p": 0.9}, {"top_k": 4, "min_p": 0.05}, {"temperature": 0.0}]


class Rounded(TabularEngine):
    """Rows as a model's."""

    def forward(self, works, fills=()):
        found = super().forward(works, fills)
        return [replace(scores, logits=np.ascontiguousarray(scores.logits, dtype=np.float32)) for scores in found]


class Seeds:
    """The chance of samples of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def sample(self, index: int) -> PhiloxRandomness:
        return PhiloxRandomness(self._seed, index)


def written(params, seed: int, rule: str, draft_tokens: int) -> tuple[list[tuple[int, float, float]], int]:
    """(token, its two logarithms) of a text, and how many of the tokens were drafted and kept."""
    target, draft = random_table(VOCAB, 2, seed), random_table(VOCAB, 1, seed)
    scenario = Scenario("edited", target, draft, params, draft_tokens, TOKENS, (END,))
    engine = Rounded(target)
    parts = parts_of(scenario, find("verifiers", rule)(), TableDrafter(draft))
    sample = started(parts, scenario, Seeds(seed), 0, engine)
    found, kept = [], 0
    for (done,) in rounds(engine, FixedController(draft_tokens), Together([sample])):
        found += zip(done.tokens, done.logprobs, done.sampling_logprobs, strict=True)
        kept += done.accepted
    return found, kept


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_a_coupled_text_is_the_plain_one(how, monkeypatch) -> None:
    monkeypatch.setattr(SamplingLaw, "step_by_step", for_drafts_alone(SamplingLaw.step_by_step))
    kept = 0
    for seed in range(12):
        drafted, accepted = written(EDITS | how, seed, "coupled", 3)
        assert drafted == written(EDITS | how, seed, "coupled", 0)[0]
        assert len(drafted) == TOKENS
        kept += accepted
    assert kept > 12


def for_drafts_alone(steps):
    """The draft's table is float64."""
    return lambda law, row: pytest.fail("not in compiled code") if row.dtype == np.float32 else steps(law, row)


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "coupled"])
@pytest.mark.parametrize("how", HOWS, ids=str)
def test_it_does_not_matter_whether_p_was_written_down(how, rule, monkeypatch) -> None:
    without_p = [written(EDITS | how, seed, rule, 3) for seed in range(8)]
    monkeypatch.setattr(RowDraws, "draw", lambda *_: None)
    assert [written(EDITS | how, seed, rule, 3) for seed in range(8)] == without_p


def test_it_does_matter_whether_drafts_count() -> None:
    """The texts above show penalties at draft nodes: with the law of the round's first place they are others."""
    drafted = [written(EDITS, seed, "coupled", 3)[0] for seed in range(8)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SamplingLaw, "edits", stale(SamplingLaw.edits))
        assert [written(EDITS, seed, "coupled", 3)[0] for seed in range(8)] != drafted


def stale(edits):
    """The edits of the text without its newest token."""

    def before(law):
        found = edits(law)
        ids, counts, recent = found.output
        return found._replace(output=(ids, counts, recent[:-1]))

    return before
