"""How much samples of one prompt differ from each other, and how sure the model was of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Tokens = Sequence[int]
Ngram = tuple[int, ...]

BLEU_ORDER = 4  # n-grams of 1 to 4 tokens, as BLEU has it
NO_MATCH = 0.1  # counted where no n-gram of an order matches, so that one order does not make all of it 0


def ngrams(tokens: Tokens, n: int) -> Iterator[Ngram]:
    """All runs of n tokens, one after the other."""
    return zip(*(tokens[i:] for i in range(n)), strict=False)


def distinct(samples: Sequence[Tokens], n: int) -> float | None:
    """Different n-grams over all n-grams of the samples together (Li et al. 2016); None where there are none.

    It falls with the amount of text: compare it only between equally many samples of about equal length.
    """
    seen: set[Ngram] = set()
    total = 0
    for tokens in samples:
        total += max(len(tokens) - n + 1, 0)
        seen.update(ngrams(tokens, n))
    return len(seen) / total if total else None


def self_bleu(samples: Sequence[Tokens]) -> float | None:
    """The mean BLEU of each sample against all others (Zhu et al. 2018): 1 = all alike; None for fewer than two.

    Clipped precisions of 1 to 4 tokens (fewer for a shorter text), their geometric mean, the brevity penalty for the
    reference of the nearest length; an order without a match counts as 0.1 matches. Empty samples are left out.
    """
    texts = [tokens for tokens in samples if len(tokens)]
    if len(texts) < 2:
        return None
    orders = [_Clipped(texts, n) for n in range(1, BLEU_ORDER + 1)]
    lengths = Counter(map(len, texts))
    return math.fsum(_bleu(tokens, orders, lengths) for tokens in texts) / len(texts)  # in any order the same


class _Clipped:
    """For one n: the largest and the second largest count of each n-gram in any sample, and whether two share it."""

    def __init__(self, texts: Sequence[Tokens], n: int) -> None:
        self.n = n
        self._top: dict[Ngram, tuple[int, int]] = {}
        for tokens in texts:
            for gram, count in Counter(ngrams(tokens, n)).items():
                first, second = self._top.get(gram, (0, 0))
                self._top[gram] = (count, first) if count > first else (first, max(second, count))

    def matches(self, tokens: Tokens) -> int:
        """N-grams of one of the samples that another one has, each as often as the richest other has it."""
        return sum(min(count, self._elsewhere(gram, count)) for gram, count in Counter(ngrams(tokens, self.n)).items())

    def _elsewhere(self, gram: Ngram, own: int) -> int:
        first, second = self._top[gram]
        return second if own == first else first


def _bleu(tokens: Tokens, orders: Iterable[_Clipped], lengths: Counter[int]) -> float:
    used = [each for each in orders if each.n <= len(tokens)]
    logs = [math.log((each.matches(tokens) or NO_MATCH) / (len(tokens) - each.n + 1)) for each in used]
    others = [length for length, count in lengths.items() if count > (length == len(tokens))]
    nearest = min(others, key=lambda length: (abs(length - len(tokens)), length))
    return math.exp(sum(logs) / len(logs) + min(0.0, 1 - nearest / len(tokens)))


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over tokens and its standard error, by samples; None where it is unknown."""

    value: float | None
    error: float | None


def token_mean(sums: Sequence[float], lengths: Sequence[int]) -> Mean:
    """The mean of a number that every token has, from each sample's sum of it and its tokens.

    Tokens of one sample hang together, so samples are the unit: the error is that of a ratio, from the spread of the
    sums about what their lengths let expect.
    """
    total, count = sum(lengths), len(sums)
    if not total:
        return Mean(None, None)
    mean = math.fsum(sums) / total
    if count < 2:
        return Mean(mean, None)
    spread = math.fsum((one - mean * length) ** 2 for one, length in zip(sums, lengths, strict=True))
    return Mean(mean, math.sqrt(spread * count / (count - 1)) / total)
