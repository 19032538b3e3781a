"""Bias, penalties and bans in compiled code: logits by definition, and one law whoever computes it, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from truedraw.errors import BadParameter, EngineError
from truedraw.generate.rows import LawRows
from truedraw.protocol import NOTHING, Proposal, Purpose, Scores
from truedraw.sampling.counts import RECENT_TOKENS
from truedraw.sampling.drawing import RowDraws
from truedraw.sampling.edits import fixed_bits
from truedraw.sampling.kernels.edit import edit_here
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import FixedEdits, Opening

VOCAB = 2100  # more than a tile of the race, and no whole number of bytes of bits
PROMPT = (7, 3, 3, 2099, 0, 11)
INF = math.inf
UNCUT = [{}, {"temperature": 0.3}, {"temperature": 1.7}, {"temperature": 1e-300}, {"temperature": 5e-324}]
CUT = [
    {"temperature": 0.0},
    {"top_k": 1},
    {"top_k": 40, "temperature": 1.3},
    {"top_k": 1900},
    {"top_p": 0.9},
    {"temperature": 0.8, "top_p": 1e-9},
    {"min_p": 0.03, "temperature": 0.9},
    {"temperature": 0.8, "top_k": 50, "top_p": 0.95, "min_p": 0.02},
]
EDITED: dict[str, dict[str, Any]] = {
    "repetition": {"repetition_penalty": 1.3},
    "repetition below 1": {"repetition_penalty": 0.4},
    "counts": {"presence_penalty": 0.7, "frequency_penalty": -0.3},
    "bias": {"logit_bias": {0: 30.0, 5: -100.0, 2099: 4.5, 8: 1e-9}},
    "bans": {"bad_words": ((4,), (11, 7), (2, 9)), "no_repeat_ngram": 2, "min_tokens": 200},
    "few allowed": {"allowed_token_ids": (1, 2, 3, 700, 2099)},
    "all": {
        "repetition_penalty": 1.2, "presence_penalty": 0.5, "frequency_penalty": 0.25, "no_repeat_ngram": 3,
        "logit_bias": {3: 4.0, 7: -2.5, 2099: 9.0}, "bad_words": ((6,), (3, 3)), "min_tokens": 40,
        "allowed_token_ids": tuple(range(0, 2100, 3)),
    },
}  # fmt: skip
ENDS = (5, 2098)


def rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    banned = rng.normal(0, 3, VOCAB)
    banned[rng.random(VOCAB) < 0.9] = -INF
    found = {
        "normal": rng.normal(0, 3, VOCAB),
        "flat": np.zeros(VOCAB),
        "ties": np.round(rng.normal(0, 2, VOCAB)),
        "one-hot": np.where(np.arange(VOCAB) == 3, 0.0, -INF),
        "nearly one-hot": np.where(np.arange(VOCAB) == 7, 100.0, -100.0),
        "banned": banned,
        "huge range": rng.normal(0, 1e30, VOCAB),
        "wide range": np.linspace(-800, 0, VOCAB),
        "tiny logits": rng.normal(0, 1e-40, VOCAB),
        "minus zero": np.full(VOCAB, -0.0),
    }
    return {name: row.astype(np.float32) for name, row in found.items()}


ROWS = rows()


def law(settings: Mapping[str, Any], output: Sequence[int] = ()) -> SamplingLaw:
    here = SamplingLaw(SamplingParams(**settings), Opening(PROMPT, VOCAB, ENDS))
    for token in output:
        here = here.after(token)
    return here


def outputs() -> list[tuple[int, ...]]:
    """Texts that are empty, repeat the prompt, and end just before and just behind a new segment of the counts."""
    rng = np.random.default_rng(1)
    long = tuple(rng.integers(0, 40, 2 * RECENT_TOKENS + 5).tolist())
    return [(), (3, 3, 12), long[: RECENT_TOKENS - 1], long[:RECENT_TOKENS], long]


def edited(row: np.ndarray, settings: Mapping[str, Any], output: Sequence[int]) -> np.ndarray:
    """The definition, one token and one operation after the other."""
    z = row.astype(np.float64)
    for token, bias in settings.get("logit_bias", {}).items():
        z[token] += bias
    for token in set(PROMPT) | set(output):
        r = settings.get("repetition_penalty", 1.0)
        z[token] = z[token] / r if z[token] > 0 else z[token] * r
    for token in set(output):
        f, s = settings.get("frequency_penalty", 0.0), settings.get("presence_penalty", 0.0)
        z[token] -= f * output.count(token) + s
    z[banned(settings, (*PROMPT, *output), len(output))] = -INF
    return z


def banned(settings: Mapping[str, Any], text: tuple[int, ...], generated: int) -> list[int]:
    allowed = settings.get("allowed_token_ids")
    found = [] if allowed is None else [token for token in range(VOCAB) if token not in allowed]
    found += ENDS if generated < settings.get("min_tokens", 0) else ()
    for *begin, last in settings.get("bad_words", ()):
        if not begin or list(text[-len(begin) :]) == begin:
            found.append(last)
    if n := settings.get("no_repeat_ngram", 0):
        grams = {text[i : i + n] for i in range(len(text) - n + 1)}
        found += [last for *begin, last in grams if tuple(begin) == text[len(text) - n + 1 :]]
    return found


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("kind", EDITED)
def test_edits_are_their_definition_to_the_last_bit(kind: str, name: str) -> None:
    for output in outputs():
        z = ROWS[name].astype(np.float64)
        assert edit_here(z, tuple(law(EDITED[kind], output).edits()))
        assert z.tobytes() == edited(ROWS[name], EDITED[kind], output).tobytes()


@pytest.mark.parametrize("how", UNCUT, ids=str)
@pytest.mark.parametrize("kind", EDITED)
def test_p_has_the_bits_of_the_steps(kind: str, how) -> None:
    for output in outputs():
        own = law(EDITED[kind] | how, output)
        for logits in ROWS.values():
            assert possible(own, logits, output, EDITED[kind]) is None or (
                own(logits).tobytes() == own.step_by_step(logits).tobytes()
            )


@pytest.mark.parametrize("how", CUT, ids=str)
@pytest.mark.parametrize("kind", EDITED)
def test_what_is_cut_is_what_the_steps_cut(kind: str, how) -> None:
    """The edge of a mass may round to either side, but keeps the same tokens first."""
    for output in outputs():
        own = law(EDITED[kind] | how, output)
        for logits in ROWS.values():
            if possible(own, logits, output, EDITED[kind]) is not None:
                p, expected = own(logits), own.step_by_step(logits)
                both = (p > 0) & (expected > 0)
                assert np.count_nonzero((p > 0) != (expected > 0)) <= ("top_p" in how)
                np.testing.assert_allclose(p[both] / p[both].sum(), expected[both] / expected[both].sum(), rtol=1e-12)


def possible(own: SamplingLaw, logits: np.ndarray, output: Sequence[int], settings: Mapping[str, Any]) -> bool | None:
    """None where nothing may follow; both ways then say so in the same words."""
    if edited(logits, settings, output).max() > -INF:
        return True
    messages = []
    for way in (own, own.step_by_step):
        with pytest.raises(BadParameter, match="no token may follow") as error:
            way(logits)
        messages.append((error.value.parameter, str(error.value)))
    assert messages[0] == messages[1]
    return None


@pytest.mark.parametrize("how", UNCUT + CUT, ids=str)
@pytest.mark.parametrize("kind", EDITED)
def test_a_draw_without_p_has_the_token_and_the_logarithms_of_p(kind: str, how) -> None:
    """Also in memory that rows of all kinds have used before; and the row stays as it is."""
    draws = RowDraws()
    for number, output in enumerate(outputs()):
        own = law(EDITED[kind] | how, output)
        for logits in ROWS.values():
            before, chance = logits.copy(), PhiloxRandomness(5, number)
            drawn = draws.draw(own, logits, chance, Purpose.TARGET, number, 0)
            assert logits.tobytes() == before.tobytes()
            if drawn is None:
                assert possible(own, logits, output, EDITED[kind]) is None
                continue
            p = own(logits)
            assert drawn.token == chance.choose(p, Purpose.TARGET, number)
            assert drawn.sampling_logprob == math.log(p[drawn.token])
            given = draws.given(own, logits, drawn.token)
            assert given == (drawn.token, drawn.logprob, None)


@pytest.mark.parametrize("how", [{}, {"temperature": 0.7, "top_p": 0.9}, {"temperature": 0.0}], ids=str)
@pytest.mark.parametrize("kind", EDITED)
def test_at_draft_nodes_hypothetical_tokens_count(kind: str, how) -> None:
    """A row below drafts has the law of the text that ends in them, and its logarithms whoever looked at p before."""
    rng, tokens = np.random.default_rng(0), [3, 12, 2, 3]
    scores = Scores(rng.normal(0, 2, (5, VOCAB)).astype(np.float32))
    proposal, chance = Proposal.chain(tokens), PhiloxRandomness(8)
    own = law(EDITED[kind] | how, (1, 3))
    unseen, seen = (LawRows(own, proposal, scores) for _ in range(2))
    for node in range(4, -1, -1):
        here = law(EDITED[kind] | how, (1, 3, *tokens[:node]))
        token = unseen.draw(node, chance, Purpose.TARGET, node)
        assert token == LawRows(here, NOTHING, Scores(scores.logits[node : node + 1])).draw(
            0, chance, Purpose.TARGET, node
        )
        assert seen[node].tobytes() == here(scores.logits[node]).tobytes()
        assert unseen[node].tobytes() == seen[node].tobytes()
        if node and (edited(scores.logits[node], EDITED[kind], (1, 3)) != -INF).any():
            kept = [*tokens[:node], token]
            assert unseen.logprobs(kept) == seen.logprobs(kept)


def test_all_banned_but_one_and_all_banned() -> None:
    for allowed in (4, VOCAB - 1):
        own = law({"allowed_token_ids": (allowed, 9), "bad_words": ((9,),), "top_p": 0.5})
        drawn = RowDraws().draw(own, ROWS["normal"], PhiloxRandomness(1), Purpose.TARGET, 0, 0)
        assert (drawn.token, drawn.sampling_logprob) == (allowed, 0.0)
    nothing = law({"allowed_token_ids": (9,), "bad_words": ((9,),)})
    assert RowDraws().draw(nothing, ROWS["normal"], PhiloxRandomness(1), Purpose.TARGET, 0, 0) is None
    assert possible(nothing, ROWS["normal"], (), {"allowed_token_ids": (9,), "bad_words": ((9,),)}) is None


@pytest.mark.parametrize(("byte", "allowed"), [(0b10000101, [0, 2, 7]), (0b11111111, list(range(8)))])
def test_a_mask_of_one_byte_bans_all_tokens_behind_it(byte: int, allowed: list[int]) -> None:
    own = masked(byte)
    for way in (own, own.step_by_step):
        assert np.flatnonzero(way(np.zeros(20, np.float32))).tolist() == allowed


def test_a_mask_that_allows_nothing_leaves_a_long_row_stuck() -> None:
    own, row = masked(0), np.zeros(20, np.float32)
    assert RowDraws().draw(own, row, PhiloxRandomness(1), Purpose.TARGET, 0, 0) is None
    for way in (own, own.step_by_step):
        with pytest.raises(BadParameter, match="no token may follow") as error:
            way(row)
        assert error.value.parameter == "grammar"


def masked(byte: int) -> SamplingLaw:
    bits = fixed_bits(np.array([byte], np.uint8))
    return SamplingLaw(SamplingParams(), Opening((), 20, masks=(FixedEdits(lambda e: e.allowing(bits), "grammar"),)))


def test_a_ban_does_not_hide_a_broken_row() -> None:
    for bad in (math.nan, INF):
        logits = ROWS["normal"].copy()
        logits[9] = bad
        own = law({"bad_words": ((9,),)})
        assert RowDraws().draw(own, logits, PhiloxRandomness(1), Purpose.TARGET, 0, 0) is None
        with pytest.raises(EngineError, match="unusable"):
            own(logits)


@pytest.mark.parametrize("kind", [kind for kind in EDITED if kind not in ("few allowed",)])
def test_a_token_beyond_the_row_is_an_error_and_not_written(kind: str) -> None:
    short = np.zeros(4, np.float32)
    own = law(EDITED[kind], (3, 11, 2099))
    assert RowDraws().draw(own, short, PhiloxRandomness(1), Purpose.TARGET, 0, 0) is None
    with pytest.raises(IndexError, match="4 logits"):
        own(short)


def test_only_what_stands_before_the_temperature_is_fused_and_at_every_place() -> None:
    for kind, settings in EDITED.items():
        assert law(settings).fused is not None, kind
        assert law(settings, (1, 2, 3)).fused == law(settings).fused
        assert law(settings).transform is None
        assert law(settings | {"typical_p": 0.9}).fused is None
    assert law({"sampler_order": ("penalties", "temperature", "top_p"), "repetition_penalty": 1.1}).fused is not None


def test_another_masks_law_is_not_fused() -> None:
    class Mask:
        def __call__(self, row) -> None:
            row.logits()[0] = -INF

        def after(self, token, p):
            return self

    own = SamplingLaw(SamplingParams(), Opening(PROMPT, VOCAB, masks=(Mask(),)))
    assert own.fused is None
    assert own(ROWS["flat"])[0] == 0
