"""The layer's sizes."""

from __future__ import annotations

from truedraw.distill.independent.plan import EPSILON, THETA
from truedraw.protocol import ModelConfig

HEAD_DIM = 64
GROUPS = (3, 2, 1)
"""How many heads share keys and values: the first of these that parts the heads. They are kept for each token."""


def layer_config(vocab_size: int, context_length: int, width: int, inner: int) -> ModelConfig:
    """Of a layer as wide as its target, whose embedding it reads."""
    heads = max(1, width // HEAD_DIM)
    shared = next(group for group in GROUPS if heads % group == 0)
    return ModelConfig(
        architecture="llama",
        vocab_size=vocab_size,
        context_length=context_length,
        hidden_size=width,
        intermediate_size=inner,
        num_layers=1,
        num_heads=heads,
        num_kv_heads=heads // shared,
        head_dim=HEAD_DIM,
        rms_norm_eps=EPSILON,
        rope_theta=THETA,
        rope_scaling=None,
        tie_embeddings=False,
        qkv_bias=False,
        qk_norm=False,
    )
