"""What head_ngram_blend.py has compiled: numbers that go from the places of one list of tokens to those of another.

`places` [vocab] are those of tokens in a head's list, negative for what it does not know.
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import compiled
from truedraw.sampling.kernels.softmax import top_of
from truedraw.sampling.kernels.totals import total_weight


@compiled(nogil=True, error_model="numpy")
def blended(logits, places, tokens, chances, weight, out):  # type: ignore[no-untyped-def]
    """out [known]: a head's logits [known] with counts of tokens [counted], which have this weight.

    Returns (tokens, values) of those that the head does not know, and whether its logits are a law; else nothing is
    written.
    """
    new, left = np.empty(tokens.shape[0], np.int64), np.empty(tokens.shape[0], np.float32)
    top, size = top_of(logits), 0
    if not np.isfinite(top):
        return new[:size], left[:size], False
    total, less = top + math.log(total_weight(logits, top, 1.0)), np.float32(math.log1p(-weight))
    for i in range(logits.shape[0]):
        out[i] = logits[i] + less
    for i in range(tokens.shape[0]):
        here = places[tokens[i]]
        own = math.exp(logits[here] - total) if here >= 0 else 0.0
        both = np.float32(math.log((1.0 - weight) * own + weight * chances[i]) + total)
        if here >= 0:
            out[here] = both
        else:
            new[size], left[size] = tokens[i], both
            size += 1
    return new[:size], left[:size], True


@compiled(error_model="numpy")
def merged(tokens, logits, others, values):  # type: ignore[no-untyped-def]
    """Both lists of rising tokens, none of them in both, as one, and what belongs to each."""
    size = tokens.shape[0] + others.shape[0]
    all_tokens, all_logits = np.empty(size, np.int64), np.empty(size, np.float32)
    i = 0
    for j in range(others.shape[0]):
        while i < tokens.shape[0] and tokens[i] < others[j]:
            all_tokens[i + j], all_logits[i + j] = tokens[i], logits[i]
            i += 1
        all_tokens[i + j], all_logits[i + j] = others[j], values[j]
    all_tokens[i + others.shape[0] :] = tokens[i:]
    all_logits[i + others.shape[0] :] = logits[i:]
    return all_tokens, all_logits
