"""What the tests on the real model share: prompts, the laws it should follow, and the statistics that look."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from truedraw import Model, SamplingParams
from truedraw.protocol import ROOT, Proposal, Work
from truedraw.sampling.law import SamplingLaw

THINGS = ("a lighthouse", "an old violin", "the last train", "a paper map", "the winter garden", "a clever fox",
          "the kitchen table", "a letter from the sea", "two brothers", "the night market")  # fmt: skip
FORMS = (
    "Write a short story about {}.",
    "Describe {} in three sentences, then describe it again in the same words but shorter.",
    "List ten facts about {}. Number each fact. Begin each line with the words: Fact about {}.",
    'Repeat this exactly, twice: "Of {} I sing, of {} I sing, and nothing else I bring."',
    "Question: what do people say about {}? Answer: people say about {}",
)
PROMPTS = [form.replace("{}", thing) for thing, form in itertools.product(THINGS, FORMS)]  # 50

REPETITIVE = "The cat sat on the mat. The dog sat on the mat. The cat ran to the door. The dog ran to the"
SIBLINGS_AT_ONCE = 32


def first_two_tokens(model: Model, settings: dict, calls: int, batch: int) -> np.ndarray:
    """[calls * batch, 2] token ids drawn with speculation, every call with its own seed."""
    results = (model.generate(REPETITIVE, seed=seed, n=batch, max_tokens=3, ignore_eos=True, **settings)
               for seed in range(calls))  # fmt: skip
    return np.array([choice.tokens[:2] for result in results for choice in result.choices])


def laws(model: Model, seconds_after: Sequence[int]) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """p of the first token, and p of the second one after each given first; from the engine's logits alone."""
    law = SamplingLaw(SamplingParams())
    sequence = model.engine.open(model.tokenizer.encode(REPETITIVE))
    first = law(model.engine.forward([Work(sequence)])[0].logits[0])
    after = {}
    for group in _groups(list(seconds_after)):
        tree = Proposal(np.array(group), np.full(len(group), ROOT), (None,) * len(group))
        logits = model.engine.forward([Work(sequence, tree)])[0].logits
        after |= {token: law(logits[1 + i]) for i, token in enumerate(group)}
    sequence.close()
    return first, after


def _groups(tokens: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(tokens), SIBLINGS_AT_ONCE):
        yield tokens[start : start + SIBLINGS_AT_ONCE]


def uniform_p_value(tokens: Sequence[int], rows: Sequence[np.ndarray], seed: int = 0) -> float:
    """Conditional probability integral transform: F(< x) + u p(x) is uniform where x ~ p; likeliest tokens first."""
    rng = np.random.default_rng(seed)
    values = [mass_before(x, row) + rng.random() * row[x] for x, row in zip(tokens, rows, strict=True)]
    return float(stats.kstest(values, "uniform").pvalue)


def mass_before(token: int, p: np.ndarray) -> float:
    """Of the likelier tokens; two tokens can be exactly as likely (the model's logits are coarse), then ids decide."""
    alike = p[:token] == p[token]
    return float(p[p > p[token]].sum() + p[:token][alike].sum())


def frequency_p_value(tokens: Sequence[int], p: np.ndarray) -> float:
    """Chi-square of token counts; tokens with an expectation under 5 are pooled."""
    expected = p * len(tokens)
    common = expected >= 5
    counts = np.bincount(tokens, minlength=p.size)
    seen = [*counts[common], counts[~common].sum()]
    return float(stats.chisquare(seen, [*expected[common], expected[~common].sum()]).pvalue)


def directed_p_value(tokens: Sequence[int], p: np.ndarray, token: int) -> float:
    """Binomial test of one token's frequency: that of the draft, towards which most bugs lean."""
    hits = int((np.asarray(tokens) == token).sum())
    return float(stats.binomtest(hits, len(tokens), float(p[token])).pvalue)


def smallest_visible_tv(samples: int, alpha: float, power: float) -> float:
    """Total variation that the directed test finds with this power: N = (z_alpha + z_power)^2 / (4 d^2)."""
    z = stats.norm.isf(alpha / 2) + stats.norm.isf(1 - power)
    return float(z / (2 * np.sqrt(samples)))
