"""Coupled verification: every token is drawn from p with the noise of its own position; a draft is kept when equal.

The emitted token at position t is a plain draw from the target's law there, so the rule is exact with any drafter and
any tree, and since its noise belongs to the position (Daliri, Musco, Suresh, 2408.07978) the text of a seed is the
same with speculation on or off, bit for bit. A certain draft is kept with probability p(x), as under token-wise
verification.
"""

from __future__ import annotations

from typing import ClassVar

from truedraw.protocol import ROOT, Proposal, Purpose, Randomness, Rows, Verdict
from truedraw.verify.draws import decided, draw
from truedraw.verify.proposals import check_tree, children


class CoupledVerifier:
    """protocol.Verifier for every tree; the laws of its drafts are not looked at. Raises BadProposal on a bad tree."""

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = True

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """Walks down from the committed text while the target's own token has a node.

        `here` holds every node that spells the text so far: equal siblings are one prefix with several subtrees.
        """
        check_tree(proposal)
        found = decided(rows, self.coupled, proposal, randomness, position)
        if found is not None:
            return found
        tree, ids = children(proposal), proposal.tokens.tolist()
        here = [ROOT]
        drawn: tuple[int, ...] = ()
        while True:
            token = draw(rows, 1 + here[0], randomness, Purpose.TARGET, position + len(drawn))
            drawn = (*drawn, token)
            below = [child for node in here for child in tree[node]]
            here = [child for child in below if ids[child] == token]
            if not here:
                return Verdict(drawn, len(drawn) - 1, rejected=bool(below))
