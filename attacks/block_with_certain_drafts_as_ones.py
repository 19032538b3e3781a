"""Drafts without a law go through block verification with q = 1, for the token and for the whole vocabulary."""

import numpy as np

from attacks.attack import Attack, enumerated
from attacks.block_pieces import BlockTwin
from truedraw.draft.ngram import NgramDrafter


class CertainDraftsAsOnes(BlockTwin):
    """A point mass is 1 at its token and 0 elsewhere; all ones are no law."""

    def dense(self, law, p, token):
        return law if law is not None else np.ones(len(p))


ATTACK = Attack(
    "block verification of looked-up drafts with q = 1 everywhere",
    enumerated(CertainDraftsAsOnes(), NgramDrafter(1, 1), prompt=(0, 1, 2, 0, 1)),
    "[vllm-ascend #7603](https://github.com/vllm-project/vllm-ascend/pull/7603) (block verification disabled there)",
)
