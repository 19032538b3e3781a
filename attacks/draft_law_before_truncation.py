"""The draft is drawn after top_k; q is reported as it was before."""

import numpy as np

from attacks.attack import TRUNCATED, Attack, enumerated
from truedraw.protocol import Proposal
from truedraw.testing import TableDrafter
from truedraw.testing.tables import lookup


class RawLaw(TableDrafter):
    """Samples the truncated law and reports the whole one."""

    def chain(self, state, budget, randomness):
        proposal = super().chain(state, budget, randomness)
        text = [*state.text, *proposal.tokens.tolist()]
        raw = [np.array(lookup(TRUNCATED.draft, text[: len(state.text) + node])) for node in range(len(proposal))]
        return Proposal.chain(proposal.tokens.tolist(), raw)


ATTACK = Attack(
    "q is reported before top_k, the draft was drawn after it",
    enumerated(drafter=RawLaw, scenario=TRUNCATED),
    "[transformers #47932](https://github.com/huggingface/transformers/issues/47932), which measures a median of "
    "0.05 a token on real models",
)
