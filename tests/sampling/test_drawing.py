"""Drawing without p: the same tokens and logarithms as the long way, and only where it is the same law."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.errors import EngineError
from truedraw.generate.means import Means
from truedraw.generate.rows import LawRows
from truedraw.protocol import NOTHING, Proposal, Purpose, Scores
from truedraw.sampling.drawing import RowDraws
from truedraw.sampling.law import SamplingLaw, log_probability
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.sampling.transform import Transform
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.traversal import TraversalVerifier

VOCAB = 5003
SETTINGS = [
    {},
    {"temperature": 0.0},
    {"temperature": 0.7},
    {"temperature": 5e-324},
    {"temperature": 0.0, "top_k": 5},
    {"top_k": 1},
    {"top_k": 40, "temperature": 1.3},
    {"top_k": 4000},
    {"top_p": 0.9},
    {"min_p": 0.03, "temperature": 0.9},
    {"temperature": 0.8, "top_k": 50, "top_p": 0.95, "min_p": 0.02},
]
OTHERS = [
    {"repetition_penalty": 1.2, "top_n_sigma": 1.0},
    {"temperature": 0.8, "typical_p": 0.9},
    {"temperature": 0.8, "top_p": 0.9, "sampler_order": "llama.cpp"},
    {"top_k": 9, "min_p": 0.1, "sampler_order": "vllm"},
    {"schedule": {"temperature": ((0, 1.0), (9, 0.5))}},
    {"temperature": 0.8, "dynatemp_range": 0.2},
]


def law(**settings) -> SamplingLaw:
    return SamplingLaw(SamplingParams(**settings), Opening(prompt=(1, 2), vocab_size=VOCAB))


def rows(count: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    found = rng.normal(0, 3, (24, VOCAB)).astype(np.float32)
    found[::3, rng.integers(0, VOCAB, 9)] += 11
    found[1, : VOCAB // 2] = -np.inf
    found[2] = np.round(found[2])
    return found[:count].copy()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_draw_is_that_of_the_long_way(settings) -> None:
    draws, own = RowDraws(), law(**settings)
    for sample, logits in enumerate(rows(24)):
        chance, before = PhiloxRandomness(7, sample), logits.copy()
        p = own.step_by_step(logits)
        drawn = draws.draw(own, logits, chance, Purpose.TARGET, 9 + sample, 0)
        assert drawn is not None
        assert drawn.token == chance.choose(p, Purpose.TARGET, 9 + sample)
        assert drawn.logprob == pytest.approx(log_probability(logits, drawn.token), abs=1e-12)
        assert drawn.sampling_logprob == pytest.approx(np.log(p[drawn.token]), abs=1e-12)
        assert (logits == before).all()


@pytest.mark.parametrize("vocab", [3, 64, 1001, VOCAB])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_logarithms_have_the_same_bits_whoever_chose_the_token(settings, vocab) -> None:
    """Whether p was looked at depends on what was drafted, and that may depend on how long things took."""
    own = law(**settings)
    for sample, logits in enumerate(rows(24)[:, -vocab:].copy()):
        found, chance = LawRows(own, NOTHING, Scores(logits[None])), PhiloxRandomness(7, sample)
        token = found.draw(0, chance, Purpose.TARGET, 9)
        looked_at = LawRows(own, NOTHING, Scores(logits[None]))
        assert looked_at[0][token] == pytest.approx(np.exp(found.logprobs([token])[1][0]), rel=1e-11)
        assert looked_at.logprobs([token]) == found.logprobs([token])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_any_token_that_was_kept_has_the_logarithms_of_the_long_way(settings) -> None:
    own, logits = law(**settings), rows(1)
    p = own.step_by_step(logits[0])
    for token in (*np.argsort(p)[-3:].tolist(), 0, VOCAB - 1):
        ((before,), (after,)) = LawRows(own, NOTHING, Scores(logits)).logprobs([token])
        assert np.exp(after) == pytest.approx(p[token], rel=1e-10)
        assert before == pytest.approx(log_probability(logits[0], token), abs=1e-12)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_p_is_that_of_the_steps(settings) -> None:
    own = law(**settings)
    assert own.transform is not None
    for logits in rows(12):
        p, expected = own(logits), own.step_by_step(logits)
        assert ((p > 0) == (expected > 0)).all()
        np.testing.assert_allclose(p, expected, rtol=1e-12)


@pytest.mark.parametrize("settings", OTHERS, ids=str)
def test_other_laws_take_the_long_way(settings) -> None:
    own = law(**settings)
    assert (own.fused, own.transform, own.edits()) == (None, None, None)
    assert RowDraws().draw(own, rows(1)[0], PhiloxRandomness(1), Purpose.TARGET, 0, 0) is None
    assert own.after(5, own(rows(1)[0])).fused is None


def test_one_step_is_the_same_in_any_order() -> None:
    assert law(temperature=0.8, sampler_order="llama.cpp").transform == Transform(0.8)
    assert law(top_p=0.9, sampler_order="vllm").transform == Transform(top_p=0.9)
    assert law(temperature=0.8, min_p=0.1, sampler_order="vllm").transform == Transform(0.8, min_p=0.1)


def test_other_chance_and_other_arrays_take_the_long_way() -> None:
    class Other(PhiloxRandomness):
        pass

    logits = rows(1)[0]
    fixed = logits.copy()
    fixed.flags.writeable = False
    for array, chance in (
        (logits, Other(1)),
        (logits.astype(np.float64), PhiloxRandomness(1)),
        (np.repeat(logits, 2)[::2], PhiloxRandomness(1)),
        (fixed, PhiloxRandomness(1)),
    ):
        assert RowDraws().draw(law(), array, chance, Purpose.TARGET, 0, 0) is None
        np.testing.assert_allclose(law()(array), law()(logits), rtol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"top_p": 0.9}], ids=str)
def test_a_row_without_a_law_is_an_error_on_both_ways(settings) -> None:
    logits = rows(1)
    logits[0, 5] = np.nan
    found = LawRows(law(**settings), NOTHING, Scores(logits))
    with pytest.raises(EngineError, match="unusable"):
        found.draw(0, PhiloxRandomness(1), Purpose.TARGET, 0)
    with pytest.raises(EngineError, match="unusable"):
        found[0]


@pytest.mark.parametrize("verifier", [CoupledVerifier(), TraversalVerifier()], ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("settings", [{"temperature": 0.6}, {"top_k": 20}, {"min_p": 0.1}], ids=str)
def test_certain_drafts_are_verified_without_p_and_as_with_it(verifier, settings, monkeypatch) -> None:
    own, scores = law(**settings), Scores(rows(4))
    likely = [int(row.argmax()) for row in scores.logits[:3]]
    proposal = Proposal.chain(likely)
    expected, kept = [], 0
    for seed in range(30):
        verdict = verifier(proposal, [own(row) for row in scores.logits], PhiloxRandomness(seed), 3)
        expected.append((verdict, LawRows(own, proposal, scores).logprobs(verdict.tokens)))
        kept += verdict.num_accepted
    assert kept > 0
    monkeypatch.setattr(SamplingLaw, "__call__", lambda *_: pytest.fail("p was written down"))
    for seed, (verdict, logs) in enumerate(expected):
        found = LawRows(own, proposal, scores, Means())
        assert verifier(proposal, found, PhiloxRandomness(seed), 3) == verdict
        np.testing.assert_allclose(found.logprobs(verdict.tokens), logs, atol=1e-12)
        assert found.law_after(verdict.tokens) is own
