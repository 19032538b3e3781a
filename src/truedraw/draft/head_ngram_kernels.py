"""What head_ngram_blend.py has compiled: numbers that go from the places of one list of tokens to those of another.

`places` [vocab] are those of tokens in a head's list, negative for what it does not know.
"""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled


@compiled(error_model="numpy")
def lifted(logits, places, tokens, total):  # type: ignore[no-untyped-def]
    """A head's logits [known] of some tokens [counted], less `total`; -inf for those that it does not know."""
    found = np.empty(tokens.shape[0], np.float32)
    for i in range(tokens.shape[0]):
        here = places[tokens[i]]
        found[i] = logits[here] - total if here >= 0 else -np.inf
    return found


@compiled(error_model="numpy")
def laid(logits, places, tokens, values):  # type: ignore[no-untyped-def]
    """Put values [counted] of tokens into a head's logits [known]; (tokens, values) of those without a place there."""
    new, left = np.empty(tokens.shape[0], np.int64), np.empty(tokens.shape[0], np.float32)
    size = 0
    for i in range(tokens.shape[0]):
        here = places[tokens[i]]
        if here >= 0:
            logits[here] = values[i]
        else:
            new[size], left[size] = tokens[i], values[i]
            size += 1
    return new[:size], left[:size]


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
