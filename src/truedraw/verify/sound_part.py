"""What may be kept of a proposal that breaks its contract: as much as its own tokens had no part in breaking.

A rule is exact whichever nodes are drafted, as long as whether one is depends on what was drawn before it and not on
its own token (verify/traversal.py). A law is settled before its token is drawn. So a node whose law is none is dropped,
and with it what was drawn given that node: its later siblings, and what is below it or them. All else stays.

What has no place in the tree, or is beyond the budget, is dropped with all that is reported behind it. That is settled
by what is older than it, too, where nodes are reported in the order in which they were drawn.

A token that does not exist, or that its law excludes, is dropped like an illegal law, and here alone a token decides
about itself: the round is exact if, given that it is a possible one, the token was drawn from the law.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.errors import BadProposal
from truedraw.handlers import pass_on
from truedraw.protocol import NOTHING, ROOT, Proposal
from truedraw.verify.proposal_parts import has_ids
from truedraw.verify.proposals import check_confidence, check_node


def sound_part(proposal: Proposal, vocab: int, budget: int) -> Proposal:
    """The nodes that may be kept for a target of `vocab` tokens, at most `budget`, in their order.

    An opinion that is none is left out. Raises whatever reading it raises where it is no proposal at all.
    """
    tree = first_nodes(proposal, budget)
    tokens, shut, kept = tree.tokens.tolist(), set[int](), []  # shut: nothing more is kept below these
    for node, parent in enumerate(tree.parents.tolist()):
        if parent in shut:
            shut.add(node)
        elif is_sound(tokens[node], tree.laws[node], vocab, node):
            kept.append(node)
        else:
            shut |= {node, parent}
    return tree.only(np.array(kept, dtype=np.int64))


def first_nodes(proposal: Proposal, budget: int) -> Proposal:
    """At most `budget`, and as far as each has a token, a law or None, and a parent that stands before it."""
    if not has_ids(proposal):
        return NOTHING
    parents = proposal.parents.tolist()
    most = min(budget, len(proposal.tokens), len(parents), len(proposal.laws))
    most = next((node for node, parent in enumerate(parents[:most]) if not ROOT <= parent < node), most)
    confidence = proposal.confidence[:most] if proposal.confidence is not None and has_opinion(proposal) else None
    return Proposal(proposal.tokens[:most], proposal.parents[:most], tuple(proposal.laws[:most]), confidence)


def has_opinion(proposal: Proposal) -> bool:
    """Whether its confidence is one."""
    try:
        check_confidence(proposal)
    except BadProposal:
        return False
    return True


def is_sound(token: Any, law: Any, vocab: int, node: int) -> bool:
    """Whether `token` is one, and was drawn from this law for all that can be seen."""
    try:
        check_node(token, law, vocab, node)
    except Exception as error:  # a law may be anything: it comes from somebody else's code
        pass_on(error)
        return False
    return True
