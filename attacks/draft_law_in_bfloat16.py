"""The draft is drawn from bfloat16 logits; the ratio and the residual use the float32 ones."""

import numpy as np

from attacks.attack import Attack, enumerated
from truedraw.protocol import Proposal, Purpose
from truedraw.sampling.law import softmax
from truedraw.testing import TableDrafter

BFLOAT16 = 0xFFFF0000  # the bits of a float32 that a bfloat16 has (rounded towards zero)


class DrawnInBfloat16(TableDrafter):
    """Samples one law and reports another, a rounding away."""

    def chain(self, state, budget, randomness):
        tokens, laws = [], []
        for node in range(budget):
            q = self.law_after(state, [*state.text, *tokens])
            rounded = (np.log(q).astype(np.float32).view(np.uint32) & np.uint32(BFLOAT16)).view(np.float32)
            tokens.append(randomness.choose(softmax(rounded, 1.0), Purpose.DRAFT, len(state.text), node))
            laws.append(q)
        return Proposal.chain(tokens, laws)


ATTACK = Attack(
    "the draft is drawn in bfloat16, q is computed in float32",
    enumerated(drafter=DrawnInBfloat16),
    "[DeepSpec #31](https://github.com/deepseek-ai/DeepSpec/issues/31)",
)
