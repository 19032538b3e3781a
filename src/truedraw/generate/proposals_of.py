"""What a drafter proposes, in one call of it: somebody else's may make its proposals one by one, and never end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from truedraw.protocol import Drafter, Proposal, Randomness


def proposals_of(
    drafter: Drafter, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
) -> list[Proposal]:
    """One for each text, fewer where there are no more, one more where there are too many.

    The drafter gets lists that it may do anything with.
    """
    made = drafter.propose([*states], [*budgets], [*randomness])
    return [*islice(made, len(states) + 1)]
