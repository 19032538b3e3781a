"""Block verification that ends at the first coin that fails; its coins mean something else: the last success counts."""

from attacks.attack import Attack, enumerated
from attacks.block_pieces import BlockTwin


class StopsAtTheFirstFailedCoin(BlockTwin):
    """What looks like a correction to a reader who knows token-wise verification."""

    def last(self, heads):
        return next((i for i, head in enumerate(heads) if not head), len(heads))


ATTACK = Attack(
    "block verification stops at the first coin that fails",
    enumerated(StopsAtTheFirstFailedCoin()),
    "asked for by a review bot in [vllm-ascend #11985](https://github.com/vllm-project/vllm-ascend/pull/11985), "
    "where the code was right",
)
