"""What drafters hold that draft from the text alone, beside the default model and its cache: under 1 % of both."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from truedraw.draft.lookahead import LookaheadDrafter
from truedraw.draft.mix import SOURCES, MixDrafter
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.ngram_lm import NgramLMDrafter
from truedraw.draft.prediction import PredictionDrafter
from truedraw.draft.recycle import RecycleDrafter
from truedraw.draft.suffix import SuffixDrafter
from truedraw.protocol import Proposal, Scores
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness

VOCAB, LAYERS, KV_HEADS, HEAD_DIM = 49_152, 30, 3, 64  # of SmolLM2-135M
MODEL_BYTES = 98_000_000  # of its file; in memory it is more
CACHE_BYTES = 2 * LAYERS * KV_HEADS * HEAD_DIM * 2  # a token, keys and values of 16 bits
SHARE = 0.01
TOKENS, ROUND = 8_000, 8  # nearly the context
PHRASES, LONGEST = 5_000, 6
LAW = SamplingLaw(SamplingParams())
MODELS = SimpleNamespace(tokenizer=None, vocab_size=VOCAB)
ALONE = {"suffix": SuffixDrafter, "ngram": NgramDrafter, "recycle": RecycleDrafter}
DRAFTERS = {
    **ALONE,
    "ngram-lm": lambda: NgramLMDrafter(vocab_size=VOCAB),
    "lookahead": LookaheadDrafter,
    "prediction": lambda: PredictionDrafter(MODELS, prediction=long_text()),
    "mix": lambda: MixDrafter(lambda name: ALONE[name](), sources=SOURCES),
}


def by_rank(count: int, rng) -> np.ndarray:
    """Numbers below a bound, as often as words come (Zipf)."""
    chances = 1 / np.arange(1, VOCAB + 1)
    return rng.choice(VOCAB, count, p=chances / chances.sum())


def long_text() -> list[int]:
    """Words and phrases that come again: some two thousand different tokens, three quarters of the trigrams new."""
    rng = np.random.default_rng(5)
    lengths = 1 + np.arange(PHRASES) % LONGEST
    phrases = np.split(by_rank(int(lengths.sum()), rng), np.cumsum(lengths)[:-1])
    picked = by_rank(TOKENS, rng) % PHRASES
    return np.concatenate([phrases[number] for number in picked])[:TOKENS].tolist()


def run(make, text: list[int]):
    """A drafter and its state behind a text, half of which it wrote itself."""
    rows = np.random.default_rng(6).normal(size=(ROUND, VOCAB)).astype(np.float32)
    drafter = make()
    state = drafter.open(text[: len(text) // 2], LAW)
    for first in range(len(text) // 2, len(text), ROUND):
        part = text[first : first + ROUND]
        if first % 256 == 0:
            drafter.propose([state], [7], [PhiloxRandomness(first)])
        state.commit(part, Scores(rows[: len(part)], proposal=Proposal.chain(part[:-1])))
    return drafter, state


@pytest.fixture(scope="module")
def text() -> list[int]:
    return long_text()


def test_the_text_is_like_one(text) -> None:
    assert len(text) == TOKENS
    assert 1_000 < len(set(text)) < 3_000
    threes = {tuple(text[i : i + 3]) for i in range(TOKENS - 2)}
    assert 0.6 < len(threes) / TOKENS < 0.95


@pytest.mark.parametrize("method", DRAFTERS)
def test_a_long_text_takes_little_beside_the_model_and_its_cache(method: str, text) -> None:
    run(DRAFTERS[method], text[:1024])  # what is compiled, or read once for all texts, is there already
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        held = run(DRAFTERS[method], text)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held
    assert 0 < taken < SHARE * (MODEL_BYTES + TOKENS * CACHE_BYTES)
