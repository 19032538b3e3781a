"""What a proposal is made of, before anybody reads what it says."""

from __future__ import annotations

import numpy as np

from truedraw.errors import BadProposal
from truedraw.protocol import Proposal

OPINION = "give a float array with a number from 0 to 1 for each node"


def check_kinds(proposal: object) -> None:
    """Raises BadProposal for what is no Proposal, or one whose parts are not what it is made of."""
    if not isinstance(proposal, Proposal):
        raise no_proposal(proposal)
    if not has_ids(proposal):
        tokens, parents = kind_of(proposal.tokens), kind_of(proposal.parents)
        raise BadProposal(f"draft tokens are {tokens} and their parents {parents}; give int64 arrays")
    if not isinstance(proposal.laws, tuple | list):
        raise BadProposal(f"the laws of the draft tokens are {kind_of(proposal.laws)}; give a tuple")
    if not isinstance(proposal.confidence, np.ndarray | None):
        raise BadProposal(f"confidence is {kind_of(proposal.confidence)}; {OPINION}")


def no_proposal(given: object) -> BadProposal:
    """What to raise for anything else in the place of one."""
    return BadProposal(f"a text got {kind_of(given)}; give a protocol.Proposal for each text")


def has_ids(proposal: Proposal) -> bool:
    """Whether its tokens and parents are arrays [n] of whole numbers."""
    parts = proposal.tokens, proposal.parents
    if not all(isinstance(each, np.ndarray) and each.ndim == 1 for each in parts):
        return False
    return not len(proposal) or all(each.dtype.kind in "iu" for each in parts)


def kind_of(part: object) -> str:
    """Of numbers, in a word or two."""
    if not isinstance(part, np.ndarray):
        return f"a {type(part).__name__}"
    return str(part.dtype) if part.ndim == 1 else f"{part.dtype} of shape {part.shape}"
