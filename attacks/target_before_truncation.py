"""p is taken before the sampling parameters: drafts are judged by a law that nobody asked for."""

from attacks.attack import TRUNCATED, Attack, enumerated
from attacks.skewed import Skewed
from truedraw.sampling.law import softmax


class UntransformedTarget(Skewed):
    """The target's raw softmax."""

    def p_of(self, rows, node, proposal):
        return softmax(rows._logits[node], 1.0)


ATTACK = Attack(
    "drafts are judged by p before the sampling parameters",
    enumerated(UntransformedTarget(), scenario=TRUNCATED),
    "[vLLM #10198](https://github.com/vllm-project/vllm/pull/10198) (fix); penalties ignored under speculation: "
    "[TensorRT-LLM #17701](https://github.com/NVIDIA/TensorRT-LLM/pull/17701) (fix)",
)
