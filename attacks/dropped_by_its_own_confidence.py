"""A chain is cut before a drawn token that its law finds unlikely: what is submitted no longer has the law q.

Exact alternatives: decide from the distribution before the token is drawn, keep the token and drop the later ones,
or verify against q restricted to the tokens that would have been kept. Certain drafts may be dropped freely.
"""

from attacks.attack import Attack, enumerated
from truedraw.protocol import Proposal
from truedraw.testing import TableDrafter

CONFIDENT = 0.5


class DropsByOwnConfidence(TableDrafter):
    """Drops a token because of its own probability."""

    def chain(self, state, budget, randomness):
        proposal = super().chain(state, budget, randomness)
        chances = [law[token] for law, token in zip(proposal.laws, proposal.tokens, strict=True)]
        count = next((i for i, chance in enumerate(chances) if chance < CONFIDENT), len(chances))
        return Proposal.chain(proposal.tokens[:count].tolist(), proposal.laws[:count])


ATTACK = Attack(
    "a sampled draft is dropped because it is itself unlikely",
    enumerated(drafter=DropsByOwnConfidence),
    "described in [vllm-ascend #15147](https://github.com/vllm-project/vllm-ascend/pull/15147) "
    "(pruning by the probability of the selected token; harmless where that token is an argmax)",
)
