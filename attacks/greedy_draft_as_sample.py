"""The draft is the argmax of q, the ratio p / q is computed as if it had been drawn from q."""

from attacks.attack import Attack, enumerated
from truedraw.protocol import Proposal
from truedraw.testing import TableDrafter


class GreedyWithSoftmaxLaw(TableDrafter):
    """Drafts the argmax and reports the softmax as its law. The law of an argmax is a point mass: None."""

    def chain(self, state, budget, randomness):
        tokens, laws = [], []
        for _ in range(budget):
            q = self.law_after(state, [*state.text, *tokens])
            tokens.append(int(q.argmax()))
            laws.append(q)
        return Proposal.chain(tokens, laws)


ATTACK = Attack(
    "the draft is an argmax, or found by beam search, and verified as a sample of q",
    enumerated(drafter=GreedyWithSoftmaxLaw),
    "[transformers #32867](https://github.com/huggingface/transformers/issues/32867) "
    "(fixed in [#33534](https://github.com/huggingface/transformers/pull/33534)), "
    "[jaymody/speculative-sampling #3](https://github.com/jaymody/speculative-sampling/issues/3) (fixed), "
    "[apple/ml-recurrent-drafter #6](https://github.com/apple/ml-recurrent-drafter/issues/6)",
)
