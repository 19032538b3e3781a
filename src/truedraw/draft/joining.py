"""A chain of certain tokens with a tree at its end: what must come, before what is guessed, and the room it takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from truedraw.protocol import ROOT, Proposal

MOST_SHAPES = 256  # of trees that room is looked for


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


@lru_cache(maxsize=MOST_SHAPES)
def widest(certain: int, drafts: int) -> Proposal:
    """Needs at least the room of any proposal of as many nodes: it has as many leaves as they, each as deep as any."""
    depth = certain + drafts
    parents = np.concatenate((np.arange(ROOT, depth - 1), np.full(drafts - 1, depth - 2)))
    return Proposal(np.zeros(len(parents), np.int64), parents, (None,) * len(parents))
