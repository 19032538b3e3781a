"""Block verification written a second time, all coins at once, in pieces that an attack can replace one by one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from truedraw.protocol import Floats, Proposal, Purpose, Randomness, Rows, Verdict


class BlockTwin:
    """protocol.Verifier for chains; r is the cumulative product over its running maximum, as in the log-space form.

    As it stands it is block verification, and a test says so.
    """

    exact: ClassVar[bool] = True  # the claim that an attack breaks
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """One coin a draft, then one draw."""
        tokens = proposal.tokens.tolist()
        k = len(tokens)
        p = [np.asarray(rows[i]) for i in range(k + 1)]
        q = [self.dense(law, p[0], token) for law, token in zip(proposal.laws, tokens, strict=True)]
        r = self.weights([float(p[i][x] / q[i][x]) for i, x in enumerate(tokens)])
        heads = [randomness.accept(*self.coin(i, r, p, q), Purpose.ACCEPT, position, i - 1) for i in range(1, k + 1)]
        kept = self.last(heads)
        weights = p[kept] if kept == k else self.left(r[kept], p[kept], q[kept])
        following = randomness.choose(weights if weights.sum() > 0 else p[kept], Purpose.RESIDUAL, position, 1 + kept)
        return Verdict((*tokens[:kept], following), kept, rejected=kept < k)

    def dense(self, law: Floats | None, p: Floats, token: int) -> Floats:
        """The law of a draft."""
        return law if law is not None else np.eye(len(p))[token]

    def weights(self, ratios: list[float]) -> list[float]:
        """r_0 .. r_k."""
        products = np.cumprod([1.0, *ratios])
        return (products / np.maximum.accumulate(products)).tolist()

    def coin(self, i: int, r: list[float], p: list[Floats], q: list[Floats]) -> tuple[float, float]:
        """h_i as a ratio."""
        if i == len(q):
            return self.end(r), 1.0
        z = float(np.maximum(r[i] * p[i] - q[i], 0).sum())
        return (z, z + 1 - r[i]) if z + 1 - r[i] > 0 else (1.0, 1.0)

    def end(self, r: list[float]) -> float:
        """h_k."""
        return r[-1]

    def last(self, heads: list[bool]) -> int:
        """tau."""
        return max((i for i, head in enumerate(heads, start=1) if head), default=0)

    def left(self, r: float, p: Floats, q: Floats) -> Floats:
        """Weights of the next token after a rejection."""
        return np.maximum(r * p - q, 0)
