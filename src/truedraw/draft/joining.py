"""A chain of certain tokens with a tree at its end: what must come, before what is guessed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.protocol import ROOT, Proposal


def join(tokens: Sequence[int], behind: Proposal) -> Proposal:
    """The tokens, and then `behind`, whose confidence is kept: the tokens have one of 1."""
    if not tokens:
        return behind
    chain, shift = Proposal.chain(tokens), len(tokens)
    parents = np.where(behind.parents == ROOT, shift - 1, behind.parents + shift)
    confidence = None if behind.confidence is None else np.concatenate((np.ones(shift), behind.confidence))
    return Proposal(
        np.concatenate((chain.tokens, behind.tokens)),
        np.concatenate((chain.parents, parents)),
        (*chain.laws, *behind.laws),
        confidence,
    )
