"""k-SEQ with a factor rho below the least one that leaves a residual: drafts are kept more often than p allows."""

from unittest import mock

from attacks.attack import SETTING, Attack, enumerated
from truedraw.testing.trees import SHAPES, TreeDrafter
from truedraw.verify import kseq

LEAST_RHO = kseq.least_rho
PAIR = next(shape for shape in SHAPES if shape.name == "independent siblings")


class RhoTooLow(kseq.KSeqVerifier):
    """Nine tenths of the way from 1 to where it should be."""

    def __call__(self, proposal, rows, randomness, position):
        with mock.patch.object(kseq, "least_rho", lambda p, q, k: 1 + 0.9 * (LEAST_RHO(p, q, k) - 1)):
            return super().__call__(proposal, rows, randomness, position)


ATTACK = Attack("k-SEQ with rho a tenth too small", enumerated(RhoTooLow(), TreeDrafter(SETTING.draft, PAIR)))
