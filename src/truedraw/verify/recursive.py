"""Recursive rejection sampling, node by node from the top (SpecInfer, Miao et al., 2305.09781; without replacement:
Jeon et al., 2402.14160, and Yang et al., 2401.06706).

At a node with siblings x_1, x_2, ... drawn in this order, x_j with the law Q_j given the siblings before it: P_1 = p;
x_j is kept with probability min(1, P_j(x_j) / Q_j(x_j)), and then its own children are looked at; otherwise
P_{j+1} = norm((P_j - Q_j)+). When no sibling is left the next token is drawn from the last P. Each step is token-wise
verification of one sibling with P_j as its target, so the rule is exact for any laws Q_j: with replacement Q_j = q,
without it q with the earlier siblings taken out and normalised again, a point mass for a certain sibling.
"""

from __future__ import annotations

from typing import ClassVar

from truedraw.protocol import DraftLaw, Floats, Proposal, Randomness, Rows, Verdict
from truedraw.verify.draws import Draws
from truedraw.verify.residual import SMALLEST_MASS, excess
from truedraw.verify.topdown import descend


class RecursiveVerifier:
    """protocol.Verifier for every tree; raises BadProposal, a ValueError, on an illegal law or tree."""

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """One coin a sibling at most, and one draw."""
        return descend(first_kept, proposal, rows, Draws(randomness, position))


def first_kept(proposal: Proposal, p: Floats, siblings: list[int], draws: Draws) -> tuple[int | None, Floats]:
    """topdown.FlatRule: the siblings one after the other, each against what the ones before left of p [vocab]."""
    for node in siblings:
        token, q = int(proposal.tokens[node]), proposal.laws[node]
        if draws.keep(p[token], 1.0 if q is None else q[token], node):
            return node, p
        p = remainder(p, q, token)
    return None, p


def remainder(p: Floats, q: DraftLaw | None, token: int) -> Floats:
    """norm((p - q)+) [vocab]; p where rounding leaves nothing."""
    left, total = excess(1.0, p, q, token)
    return left / total if total > SMALLEST_MASS else p
