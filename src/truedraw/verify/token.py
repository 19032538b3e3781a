"""Token-wise verification of a chain (Leviathan et al., 2211.17192, algorithm 1; Chen et al., 2302.01318, algorithm 2).

Draft token x_i ~ q_i is kept with probability min(1, p_i(x_i) / q_i(x_i)). The first one that is not kept is replaced
by a draw from the residual norm((p_i - q_i)+), and the rest is dropped; if all are kept, a bonus token is drawn from p
after the last. The mass on x is min(p, q) + (1 - sum(min(p, q))) (p - q)+ / sum((p - q)+) = p. A certain draft has
q = 1 at its token: it is kept with probability p(x), and the residual is p without x.
"""

from __future__ import annotations

from typing import ClassVar

from truedraw.protocol import Proposal, Randomness, Rows, Verdict
from truedraw.verify.draws import Draws
from truedraw.verify.proposals import check, check_chain
from truedraw.verify.residual import residual


class TokenVerifier:
    """protocol.Verifier for chains whose draft tokens have a law or are certain.

    Raises BadInput on other trees and BadProposal on an illegal law; both are ValueErrors.
    """

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """Coins and residuals are named by the round's first position and the place in the chain."""
        check_chain(proposal)
        check(proposal, rows)
        draws = Draws(randomness, position)
        kept: tuple[int, ...] = ()
        for node, (token, q) in enumerate(zip(proposal.tokens.tolist(), proposal.laws, strict=True)):
            p = rows[node]
            if not draws.keep(p[token], 1.0 if q is None else q[token], node):
                return Verdict((*kept, draws.left(p, q, token, node - 1)), node, rejected=True)
            kept = (*kept, token)
        return Verdict((*kept, draws.after(rows[len(kept)], len(kept) - 1)), len(kept), rejected=False)


__all__ = ["TokenVerifier", "residual"]
