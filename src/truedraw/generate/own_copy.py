"""A proposal in memory of its own: code that is not ours may go on writing into the arrays it gave.

The engine scores a token, and a rule looks at it behind the pass: both are to see the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.protocol import Proposal, SparseLaw


def own_copy(proposal: Proposal) -> Proposal:
    """The same; what is no array, or no proposal, stays what it is, for whoever checks the whole."""
    if not isinstance(proposal, Proposal):
        return proposal
    laws = proposal.laws
    return Proposal(
        copied(proposal.tokens),
        copied(proposal.parents),
        tuple(map(copied, laws)) if isinstance(laws, tuple | list) else laws,
        copied(proposal.confidence),
    )


def copied(part: Any) -> Any:
    """An array, or a law of two, of its own."""
    if isinstance(part, SparseLaw):
        return SparseLaw(copied(part.tokens), copied(part.weights), part.vocab_size)
    return np.array(part) if isinstance(part, np.ndarray) else part
