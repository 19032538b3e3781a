"""Block verification with the token-wise residual (p - q)+ where (r p - q)+ belongs.

So close to the truth that no statistical test of ordinary size sees it.
"""

import numpy as np

from attacks.attack import Attack, enumerated
from attacks.block_pieces import BlockTwin


class TokenwiseResidual(BlockTwin):
    """The weight of the prefix is forgotten at the end."""

    def left(self, r, p, q):
        return np.maximum(p - q, 0)


ATTACK = Attack(
    "block verification goes on from the token-wise residual",
    enumerated(TokenwiseResidual()),
    "[vllm-ascend #7807](https://github.com/vllm-project/vllm-ascend/issues/7807) (with a wrong acceptance rule; "
    "fixed in [#7808](https://github.com/vllm-project/vllm-ascend/pull/7808))",
)
