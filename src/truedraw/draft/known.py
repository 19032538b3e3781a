"""The target's law, or a draft's own, over the few tokens that a drafter knows."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import Floats, Ints, Law, Logits
from truedraw.sampling.law import law_of_known
from truedraw.sampling.transform import fused


def law_over(tokens: Ints, logits: Logits, law: Law, vocab_size: int) -> Floats:
    """q [known] by logits [known] of some tokens, which rise; all others have 0.

    Raises BadParameter where the law rules out all of them. A law that is one transform does not ask which tokens it is
    applied to; one that edits asks what they are called, and compiled code knows that.
    """
    if getattr(law, "transform", None) is not None:
        return law(logits)
    found = fused(law, logits)
    q = None if found is None else law_of_known(logits, tokens, vocab_size, found)
    if q is not None:
        return q
    whole = np.full(vocab_size, -np.inf, np.float32)
    whole[tokens] = logits
    return law(whole)[tokens]
