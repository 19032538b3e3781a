"""Two independent samples; one that repeats the other is left out, and the rest is verified as independent.

Exact: give the second its law, q without the first token.
"""

from attacks.attack import Attack, enumerated
from attacks.siblings import side_by_side, two_samples
from truedraw.testing import TableDrafter


class MergesDuplicates(TableDrafter):
    """A second sibling that is submitted is known to differ from the first."""

    def chain(self, state, budget, randomness):
        if budget < 2:
            return side_by_side([], [])
        q, pair = two_samples(self, state, randomness)
        return side_by_side(pair, [q, q]) if pair[0] != pair[1] else side_by_side(pair[:1], [q])


ATTACK = Attack("repeated siblings are merged, the others keep the law q", enumerated(drafter=MergesDuplicates))
