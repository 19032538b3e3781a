"""Token-wise verification of a chain (Leviathan et al., 2211.17192, algorithm 1; Chen et al., 2302.01318, algorithm 2).

Draft token x_i ~ q_i is kept with probability min(1, p_i(x_i) / q_i(x_i)). The first one that is not kept is replaced
by a draw from the residual norm((p_i - q_i)+), and the rest is dropped; if all are kept, a bonus token is drawn from p
after the last. The mass on x is min(p, q) + (1 - sum(min(p, q))) (p - q)+ / sum((p - q)+) = p. A certain draft has
q = 1 at its token: it is kept with probability p(x), and the residual is p without x.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from truedraw.protocol import Floats, Proposal, Purpose, Randomness, Rows, Verdict

SMALLEST_MASS = 1e-300  # of a residual that can still be drawn from; below it only rounding is left


class TokenVerifier:
    """protocol.Verifier for chains whose draft tokens have a law or are certain; raises ValueError on other trees."""

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """Coins and residuals are named by the round's first position and the place in the chain."""
        check_chain(proposal)
        kept: tuple[int, ...] = ()
        for node, (token, q) in enumerate(zip(proposal.tokens.tolist(), proposal.laws, strict=True)):
            p = rows[node]
            if not randomness.accept(p[token], 1.0 if q is None else q[token], Purpose.ACCEPT, position, node):
                correction = randomness.choose(residual(p, q, token), Purpose.RESIDUAL, position, node)
                return Verdict((*kept, correction), node, rejected=True)
            kept = (*kept, token)
        bonus = randomness.choose(rows[len(kept)], Purpose.RESIDUAL, position, len(kept))
        return Verdict((*kept, bonus), len(kept), rejected=False)


def residual(p: Floats, q: Floats | None, token: int) -> Floats:
    """(p - q)+ [vocab], not normalised; q None stands for the point mass at `token`.

    Where rounding leaves nothing of it, p was equal to q up to rounding and p itself is returned.
    """
    left = p.copy() if q is None else np.maximum(p - q, 0.0)
    if q is None:
        left[token] = 0.0
    return left if left.sum() > SMALLEST_MASS else p


def check_chain(proposal: Proposal) -> None:
    """Raises ValueError unless every draft token follows the one before."""
    if not np.array_equal(proposal.parents, np.arange(-1, len(proposal) - 1)):
        raise ValueError(f"this rule verifies chains; the proposal's parents are {proposal.parents.tolist()}")
