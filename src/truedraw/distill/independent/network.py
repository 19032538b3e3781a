"""The llama network in torch, its weights under the names of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truedraw.distill.independent.plan import EPSILON
from truedraw.protocol import ModelConfig

Tensor = Any  # torch.Tensor
Weights = Mapping[str, Tensor]
FINAL_NORM = "model.norm.weight"


def states(weights: Weights, config: ModelConfig, embedded: Tensor) -> Tensor:
    """What the final norm gives [texts, length, width] of the embedded tokens [texts, length, width]."""
    x = embedded
    turn = rotations(config, embedded.shape[1])
    for layer in range(config.num_layers):
        of = f"model.layers.{layer}."
        x = x + _attention(weights, config, normed(x, weights[of + "input_layernorm.weight"]), turn, of + "self_attn.")
        x = x + feed_forward(weights, normed(x, weights[of + "post_attention_layernorm.weight"]), of + "mlp.")
    return normed(x, weights[FINAL_NORM])


def rotations(config: ModelConfig, length: int) -> tuple[Tensor, Tensor]:
    """cos and sin of each position's angles, each [length, head_dim]."""
    import torch

    half = config.head_dim // 2
    frequencies = config.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.outer(torch.arange(length, dtype=torch.float64), frequencies).float()
    both = torch.cat([angles, angles], -1)
    return both.cos(), both.sin()


def normed(x: Tensor, gain: Tensor) -> Tensor:
    """x / rms(x) * gain."""
    return x * (x.pow(2).mean(-1, keepdim=True) + EPSILON).rsqrt() * gain


def _attention(weights: Weights, config: ModelConfig, x: Tensor, turn: tuple[Tensor, Tensor], of: str) -> Tensor:
    from torch.nn.functional import linear, scaled_dot_product_attention

    texts, length, _ = x.shape
    q, k, v = (
        linear(x, weights[f"{of}{part}_proj.weight"]).view(texts, length, -1, config.head_dim).transpose(1, 2)
        for part in "qkv"
    )  # [texts, heads, length, head_dim]
    q, k = (turned(each, turn).to(v.dtype) for each in (q, k))
    mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
    return linear(mixed.transpose(1, 2).reshape(texts, length, -1), weights[of + "o_proj.weight"])


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Heads [..., head_dim] by cos and sin of their places, float32."""
    import torch

    low, high = x.float().chunk(2, -1)
    cos, sin = turn
    return torch.cat([low, high], -1) * cos + torch.cat([-high, low], -1) * sin


def feed_forward(weights: Weights, x: Tensor, of: str) -> Tensor:
    """D (silu(G x) * (U x)) of the layer whose tensors' names begin so."""
    from torch.nn.functional import linear, silu

    inner = silu(linear(x, weights[of + "gate_proj.weight"])) * linear(x, weights[of + "up_proj.weight"])
    return linear(inner, weights[of + "down_proj.weight"])
