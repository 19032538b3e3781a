"""What the tests of the n-gram drafter share: texts, their n-grams by definition, and q by definition."""

from __future__ import annotations

from collections import Counter

import numpy as np

from truedraw.draft.ngram_lm_source import DISCOUNTS

TEXTS = [[0, 1, 2, 0, 1, 3, 0, 1, 2, 4], [1, 2, 0], [4], [], [2, 0, 1, 2, 4, 4, 4, 1]]
VOCAB = 6


def ngrams(texts, n) -> Counter:
    """By definition."""
    return Counter(tuple(text[i : i + n]) for text in texts for i in range(len(text) - n + 1))


def law_by_definition(on_file, running, context, order, vocab=VOCAB):
    """q [vocab], by the recursion of the docstring from the shortest context on; None where nothing is known."""
    q = np.zeros(vocab)
    for n in range(min(order - 1, len(context)) + 1):
        suffix = tuple(context[len(context) - n :])
        for texts, discount in zip((on_file, running), DISCOUNTS, strict=True):
            followed = {g[-1]: c for g, c in ngrams(texts, n + 1).items() if g[:-1] == suffix}
            if not followed:
                continue
            total = sum(followed.values())
            q = q * discount * len(followed) / total
            for token, count in followed.items():
                q[token] += (count - discount) / total
    return q / q.sum() if q.any() else None
