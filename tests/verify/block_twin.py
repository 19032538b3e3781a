"""Block verification written a second time, all coins at once, in pieces that a mutant can replace one by one."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import Floats, Proposal, Purpose, Verdict


class BlockTwin:
    """protocol.Verifier for chains; r is the cumulative product over its running maximum, as in the log-space form."""

    exact = True
    coupled = False

    def __call__(self, proposal: Proposal, rows, randomness, position: int) -> Verdict:
        tokens = proposal.tokens.tolist()
        k = len(tokens)
        p = [np.asarray(rows[i]) for i in range(k + 1)]
        q = [self.dense(law, p[0], token) for law, token in zip(proposal.laws, tokens, strict=True)]
        r = self.weights([p[i][x] / q[i][x] for i, x in enumerate(tokens)])
        heads = [randomness.accept(*self.coin(i, r, p, q), Purpose.ACCEPT, position, i - 1) for i in range(1, k + 1)]
        kept = self.last(heads)
        weights = p[kept] if kept == k else self.left(r[kept], p[kept], q[kept])
        following = randomness.choose(weights if weights.sum() > 0 else p[kept], Purpose.RESIDUAL, position, 1 + kept)
        return Verdict((*tokens[:kept], following), kept, rejected=kept < k)

    def dense(self, law: Floats | None, p: Floats, token: int) -> Floats:
        return law if law is not None else np.eye(len(p))[token]

    def weights(self, ratios: list[float]) -> list[float]:
        products = np.cumprod([1.0, *ratios])
        highest = np.maximum.accumulate(products)
        return (products / highest).tolist()

    def coin(self, i: int, r: list[float], p: list[Floats], q: list[Floats]) -> tuple[float, float]:
        if i == len(q):
            return self.end(r), 1.0
        z = np.maximum(r[i] * p[i] - q[i], 0).sum()
        return (z, z + 1 - r[i]) if z + 1 - r[i] > 0 else (1.0, 1.0)

    def end(self, r: list[float]) -> float:
        return r[-1]

    def last(self, heads: list[bool]) -> int:
        return max((i for i, head in enumerate(heads, start=1) if head), default=0)

    def left(self, r: float, p: Floats, q: Floats) -> Floats:
        return np.maximum(r * p - q, 0)


class StopsAtTheFirstFailedCoin(BlockTwin):
    def last(self, heads):
        return next((i for i, head in enumerate(heads) if not head), len(heads))


class TokenwiseResidual(BlockTwin):
    """(p - q)+ instead of (r p - q)+: so close to the truth that no statistical test of ordinary size sees it."""

    def left(self, r, p, q):
        return np.maximum(p - q, 0)


class UnclippedProduct(BlockTwin):
    def weights(self, ratios):
        return np.cumprod([1.0, *ratios]).tolist()


class CappedAtTheEndOnly(BlockTwin):
    """min(1, R_i) of the whole product, without the caps on the way."""

    def weights(self, ratios):
        return np.minimum(1, np.cumprod([1.0, *ratios])).tolist()


class LastPositionUncapped(BlockTwin):
    """Every prefix is capped, the last coin uses the plain product."""

    def weights(self, ratios):
        self.product = float(np.prod(ratios))
        return super().weights(ratios)

    def end(self, r):
        return min(1.0, self.product)


class TokenwiseLastCoin(BlockTwin):
    def weights(self, ratios):
        self.ratio = ratios[-1] if ratios else 1.0
        return super().weights(ratios)

    def end(self, r):
        return min(1.0, self.ratio)


class CertainDraftsAsOnes(BlockTwin):
    """q = 1 at every token for a draft that has no law."""

    def dense(self, law, p, token):
        return law if law is not None else np.ones(len(p))


class CoinWithoutItsComplement(BlockTwin):
    """h = Z instead of Z / (Z + 1 - r)."""

    def coin(self, i, r, p, q):
        z, _ = super().coin(i, r, p, q)
        return z, 1.0


class InnerCoinsAsTheLast(BlockTwin):
    """h_i = r_i everywhere."""

    def coin(self, i, r, p, q):
        return r[i], 1.0


class BonusAfterRejection(BlockTwin):
    """A whole row of p after a rejection."""

    def left(self, r, p, q):
        return p


MUTANTS = [
    StopsAtTheFirstFailedCoin, TokenwiseResidual, UnclippedProduct, CappedAtTheEndOnly, LastPositionUncapped,
    TokenwiseLastCoin, CertainDraftsAsOnes, CoinWithoutItsComplement, InnerCoinsAsTheLast, BonusAfterRejection,
]  # fmt: skip
