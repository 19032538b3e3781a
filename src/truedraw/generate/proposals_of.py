"""What a drafter proposes, in one call of it: somebody else's may make its proposals one by one, and never end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from truedraw.errors import BadProposal
from truedraw.protocol import Drafter, Proposal, Randomness
from truedraw.verify.proposal_parts import kind_of

SERIES = "__iter__", "__getitem__"  # one of which is enough to go through it


def proposals_of(
    drafter: Drafter, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
) -> list[Proposal]:
    """One for each text; raises BadProposal for fewer, for more and for what is no list.

    The drafter gets lists that it may do anything with.
    """
    made: Any = drafter.propose([*states], [*budgets], [*randomness])
    if not any(hasattr(made, each) for each in SERIES):
        raise BadProposal(f"{len(states)} texts got {kind_of(made)}; give a list with a protocol.Proposal for each")
    found = [*islice(made, len(states) + 1)]
    if len(found) != len(states):
        raise BadProposal(f"{len(states)} texts got {len(found)} proposals; give one each")
    return found
