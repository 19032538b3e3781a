"""Backward verification whose last coin is the plain product of the ratios, while earlier prefixes are capped at 1."""

import numpy as np

from attacks.attack import Attack, enumerated
from attacks.block_pieces import BlockTwin


class LastPositionUncapped(BlockTwin):
    """A token too likely under p early on pays for one too unlikely at the end."""

    def weights(self, ratios):
        self.product = float(np.prod(ratios))
        return super().weights(ratios)

    def end(self, r):
        return min(1.0, self.product)


ATTACK = Attack(
    "the last coin of a backward rule uses the uncapped product of p / q",
    enumerated(LastPositionUncapped()),
    "our reading of the [code of 2601.05724](https://github.com/ZhouYuxuanYX/Hierarchical-Speculative-Decoding) at "
    "b8575e2 (`_speculative_sampling`, backward); with the cap the rule is block verification",
)
