"""Token-wise verification cut into pieces, so that an attack can replace one of them."""

from __future__ import annotations

from typing import ClassVar

from truedraw.protocol import Floats, Proposal, Purpose, Randomness, Rows, Verdict
from truedraw.verify.token import residual


class Skewed:
    """protocol.Verifier for chains; as it stands, it is exact."""

    exact: ClassVar[bool] = True  # the claim that an attack breaks
    coupled: ClassVar[bool] = False

    def p_of(self, rows: Rows, node: int, proposal: Proposal) -> Floats:
        """The row that a draft is judged by."""
        return rows[node]

    def accepts(self, p: Floats, q: Floats | None, token: int, draws: Randomness, position: int, node: int) -> bool:
        """The coin of a draft."""
        return draws.accept(p[token], 1.0 if q is None else q[token], Purpose.ACCEPT, position, node)

    def left(self, p: Floats, q: Floats | None, token: int, rows: Rows, node: int) -> Floats:
        """Weights of the next token after a rejection."""
        return residual(p, q, token)

    def bonus(self, rows: Rows, node: int) -> Floats:
        """Weights of the token after a draft that was kept whole."""
        return rows[node]

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """As TokenVerifier."""
        kept: tuple[int, ...] = ()
        for node, (token, q) in enumerate(zip(proposal.tokens.tolist(), proposal.laws, strict=True)):
            p = self.p_of(rows, node, proposal)
            if not self.accepts(p, q, token, randomness, position, node):
                weights = self.left(p, q, token, rows, node)
                following = randomness.choose(weights, Purpose.RESIDUAL, position, node)
                return Verdict((*kept, following), node, rejected=True)
            kept = (*kept, token)
        last = randomness.choose(self.bonus(rows, len(kept)), Purpose.RESIDUAL, position, len(kept))
        return Verdict((*kept, last), len(kept), rejected=False)
