"""What is asked for, and the sizes that follow."""

from __future__ import annotations

from dataclasses import dataclass

from truedraw.distill.plan import DEPTH, RATE, HeadPlan, Sizes
from truedraw.errors import BadParameter
from truedraw.protocol import ModelConfig

WIDTH = 192  # at most, where nobody says: the output table is what a draft's pass mostly reads
HEAD_DIM = 64  # where nobody says
INNER = 4  # times the width: layers are the cheap part beside the table
EPSILON, THETA = 1e-5, 10_000.0


@dataclass(frozen=True, slots=True)
class TransformerPlan:
    """The network, and how it is trained. None: what fits the target."""

    width: int | None = None
    depth: int = DEPTH  # layers
    heads: int | None = None
    hidden: int | None = None  # inner width of the feed-forward blocks
    vocabulary: int = 8192  # tokens that each step looks at; of all others a sample
    loss: str = "lk"
    seed: int = 0
    rate: float = RATE  # of learning, at its highest

    @property
    def further(self) -> bool:
        """None begins with what another one learnt."""
        return False

    @classmethod
    def of(cls, head: HeadPlan, sizes: Sizes) -> TransformerPlan:
        """As a whole plan says it."""
        return cls(sizes.width, sizes.depth, sizes.heads, head.hidden, head.vocabulary, head.loss, head.seed, head.rate)


def draft_config(plan: TransformerPlan, vocab_size: int, context_length: int, target_width: int) -> ModelConfig:
    """The draft as a llama model with the target's tokens; raises BadParameter for sizes that do not go together."""
    width = min(WIDTH, target_width) if plan.width is None else plan.width
    if plan.heads is None and width % 2:
        raise BadParameter("--width", f"{width} numbers cannot be parted into even sizes; give an even number")
    heads = usual_heads(width) if plan.heads is None else plan.heads
    if not parts_evenly(width, heads):
        raise BadParameter(
            "--attention-heads",
            f"got {heads} for a width of {width}; give a number of heads that parts it into even sizes",
        )
    return ModelConfig(
        architecture="llama",
        vocab_size=vocab_size,
        context_length=context_length,
        hidden_size=width,
        intermediate_size=plan.hidden or INNER * width,
        num_layers=plan.depth,
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=width // heads,
        rms_norm_eps=EPSILON,
        rope_theta=THETA,
        rope_scaling=None,
        tie_embeddings=False,
        qkv_bias=False,
        qk_norm=False,
    )


def usual_heads(width: int) -> int:
    """One for HEAD_DIM of an even width, or as many fewer as part it into even sizes."""
    return next(heads for heads in range(max(1, width // HEAD_DIM), 0, -1) if parts_evenly(width, heads))


def parts_evenly(width: int, heads: int) -> bool:
    """Whether each head has as many numbers, which are turned in pairs."""
    return width % (2 * heads) == 0
