import itertools
import math
from collections import Counter

import numpy as np
import pytest

from truedraw.stats.diversity import distinct, ngrams, self_bleu, token_mean


def bleu(tokens, others):
    """BLEU by its definition, every reference looked at; NO_MATCH as documented."""
    logs = []
    for n in range(1, min(4, len(tokens)) + 1):
        counts = Counter(ngrams(tokens, n))
        most = {gram: max(Counter(ngrams(other, n))[gram] for other in others) for gram in counts}
        matches = sum(min(count, most[gram]) for gram, count in counts.items())
        logs.append(math.log((matches or 0.1) / (len(tokens) - n + 1)))
    nearest = min((abs(len(other) - len(tokens)), len(other)) for other in others)[1]
    return math.exp(np.mean(logs)) * min(1.0, math.exp(1 - nearest / len(tokens)))


def test_distinct():
    assert distinct([[1, 2, 1], [1, 2]], 1) == 2 / 5
    assert distinct([[1, 2, 1], [1, 2]], 2) == 2 / 3
    assert distinct([[1], [2]], 2) is None
    assert distinct([], 1) is None


def test_self_bleu_at_its_ends():
    same = [[1, 2, 3, 4, 5, 6]] * 3
    assert self_bleu(same) == pytest.approx(1.0)
    different = [list(range(i * 10, i * 10 + 8)) for i in range(4)]
    assert self_bleu(different) < 0.03
    assert self_bleu([[1, 2]]) is None
    assert self_bleu([[1, 2], []]) is None


def test_self_bleu_is_the_mean_of_every_sample_against_all_others():
    rng = np.random.default_rng(3)
    for trial in range(30):
        samples = [rng.integers(0, 4, rng.integers(1, 12)).tolist() for _ in range(2 + trial % 5)]
        expected = np.mean([bleu(s, samples[:i] + samples[i + 1 :]) for i, s in enumerate(samples)])
        assert self_bleu(samples) == pytest.approx(expected)


def test_ngrams_are_runs():
    assert list(ngrams([1, 2, 3], 2)) == [(1, 2), (2, 3)]
    assert list(ngrams([1], 2)) == []


def test_token_mean_weighs_tokens_and_its_error_is_that_of_the_samples():
    found = token_mean([-2.0, -6.0], [2, 4])
    assert found.value == pytest.approx(-8 / 6)
    assert found.error == pytest.approx(2 / 9)
    assert token_mean([], []).value is None
    assert token_mean([1.0], [2]) == token_mean([1.0], [2])
    assert token_mean([1.0], [2]).error is None


def test_the_error_covers_the_truth_as_often_as_it_should():
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        lengths = rng.integers(5, 30, 40).tolist()
        sums = [rng.normal(0, 1) * length**0.5 - 1.5 * length + rng.normal(0, 0.3) * length for length in lengths]
        found = token_mean(sums, lengths)
        inside += abs(found.value + 1.5) < 2 * found.error
    assert 0.90 < inside / 400 < 0.985


def test_order_does_not_matter():
    samples = [[1, 2, 3], [2, 3, 4, 5], [1, 1, 1], [3, 4, 1], [2, 2, 5, 1, 3]]
    assert len({self_bleu(p) for p in itertools.permutations(samples)}) == 1
