"""Coupled verification: every token is drawn from p with the noise of its own position; a draft is kept when equal.

The emitted token at position t is a plain draw from the target's law there, so the rule is exact with any drafter and
any tree, and since its noise belongs to the position (Daliri, Musco, Suresh, 2408.07978) the text of a seed is the
same with speculation on or off, bit for bit. A certain draft is kept with probability p(x), as under token-wise
verification.
"""

from __future__ import annotations

from typing import ClassVar

from truedraw.protocol import ROOT, Proposal, Purpose, Randomness, Rows, Verdict


class CoupledVerifier:
    """protocol.Verifier for every shape of proposal."""

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = True

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """Walks down from the committed text while the target's own token has a node."""
        node = ROOT
        drawn: tuple[int, ...] = ()
        while True:
            token = randomness.choose(rows[1 + node], Purpose.TARGET, position + len(drawn))
            drawn = (*drawn, token)
            below = children(proposal, node)
            if token not in below:
                return Verdict(drawn, len(drawn) - 1, rejected=bool(below))
            node = below[token]


def children(proposal: Proposal, node: int) -> dict[int, int]:
    """Token -> node for the children of a node; of equal siblings the first."""
    below: dict[int, int] = {}
    for child, (token, parent) in enumerate(zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True)):
        if parent == node:
            below.setdefault(token, child)
    return below
