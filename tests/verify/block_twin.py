"""Known bugs of block verification: those among the attacks, and more."""

from __future__ import annotations

import numpy as np

from attacks.block_pieces import BlockTwin
from attacks.block_stops_at_first_failure import StopsAtTheFirstFailedCoin
from attacks.block_uncapped_at_the_end import LastPositionUncapped
from attacks.block_with_certain_drafts_as_ones import CertainDraftsAsOnes
from attacks.block_without_its_residual import TokenwiseResidual


class UnclippedProduct(BlockTwin):
    def weights(self, ratios):
        return np.cumprod([1.0, *ratios]).tolist()


class CappedAtTheEndOnly(BlockTwin):
    """min(1, R_i) of the whole product, without the caps on the way."""

    def weights(self, ratios):
        return np.minimum(1, np.cumprod([1.0, *ratios])).tolist()


class TokenwiseLastCoin(BlockTwin):
    def weights(self, ratios):
        self.ratio = ratios[-1] if ratios else 1.0
        return super().weights(ratios)

    def end(self, r):
        return min(1.0, self.ratio)


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
