"""Two drafts are drawn and the one q likes better is submitted, with the law of a single draw."""

from attacks.attack import Attack, enumerated
from attacks.siblings import side_by_side, two_samples
from truedraw.testing import TableDrafter


class RetriesUnlikelyDrafts(TableDrafter):
    """Draws twice and keeps the likelier token, reporting the law of one draw."""

    def chain(self, state, budget, randomness):
        if not budget:
            return side_by_side([], [])
        q, pair = two_samples(self, state, randomness)
        return side_by_side([max(pair, key=lambda token: q[token])], [q])


ATTACK = Attack("of two sampled drafts the likelier is submitted", enumerated(drafter=RetriesUnlikelyDrafts))
