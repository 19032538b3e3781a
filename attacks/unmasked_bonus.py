"""The row after the last draft is not masked: the bonus token may be one that the mask forbids."""

from attacks.attack import TRUNCATED, Attack, enumerated
from attacks.skewed import Skewed
from truedraw.sampling.law import softmax


class UntransformedBonus(Skewed):
    """Everything else is right."""

    def bonus(self, rows, node):
        return softmax(rows._logits[node], 1.0)


ATTACK = Attack(
    "the bonus row misses the mask that the other rows have",
    enumerated(UntransformedBonus(), scenario=TRUNCATED),
    "[vLLM #44292](https://github.com/vllm-project/vllm/pull/44292) and "
    "[#44297](https://github.com/vllm-project/vllm/pull/44297) (fixes, for grammars)",
)
