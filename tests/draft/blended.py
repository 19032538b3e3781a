"""A head over tables and counts of the running text as one drafter, and its law by definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from draft.head.seeing import KNOWN, SAYS, head
from draft.ngram_lm_texts import law_by_definition
from known_laws import lookup
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head_ngram import HeadNgramDrafter
from truedraw.draft.head_ngram_weights import FIRST
from truedraw.draft.ngram_lm_texts import CountedTexts

ORDER = 4


def counted(vocab=3, online="text", order=ORDER) -> CountedTexts:
    """Of the running texts alone."""
    return CountedTexts(vocab, order=order, path="", online=online, models=None)


def both(shape, tokens=KNOWN["two of three"], kind=HeadNgramDrafter, weights=None, inner=HeadDrafter, **more):
    """Over a head whose proposals have this shape."""
    return kind.over(head(shape, tokens, inner, **more), counted(), weights)


def matched(written: Sequence[int], context: Sequence[int], order=ORDER) -> int:
    """Tokens of the longest end of `context` that something followed in what was written."""
    for n in range(min(order - 1, len(context)), 0, -1):
        end = list(context[len(context) - n :])
        if any(list(written[i : i + n]) == end for i in range(len(written) - n)):
            return n
    return 0


def by_definition(written, drafted, known, temperature=1.0, weights=FIRST) -> np.ndarray:
    """q [3] behind a text that was written and what was drafted behind it, which is not counted."""
    context = [*written, *drafted]
    q = np.zeros(3)
    q[list(known)] = np.array(lookup(SAYS, context[-2:]))[list(known)]
    weight = weights[matched(written, context)]
    mixed = (1 - weight) * q / q.sum() + weight * law_by_definition([], [written], context, ORDER, 3)
    cold = mixed ** (1 / temperature)
    return cold / cold.sum()
