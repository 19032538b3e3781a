"""Two siblings are sampled and tried likeliest first, as if they had been drawn in that order."""

from attacks.attack import Attack, enumerated
from attacks.siblings import side_by_side, two_samples
from truedraw.testing import TableDrafter


class SortsSiblings(TableDrafter):
    """The first of a sorted pair does not have the law q."""

    def chain(self, state, budget, randomness):
        if budget < 2:
            return side_by_side([], [])
        q, pair = two_samples(self, state, randomness)
        return side_by_side(sorted(pair, key=lambda token: -q[token]), [q, q])


ATTACK = Attack("sampled siblings are tried likeliest first", enumerated(drafter=SortsSiblings))
