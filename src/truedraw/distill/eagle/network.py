"""The network of an EAGLE-3 draft in torch, its weights under the names of speculators' folder.

Written with norm_before_fc: the target's streams differ in size by a factor of a hundred, and the gain of that norm
evens them out, so that a matrix of int8 behind it has one scale for inputs of one size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from truedraw.distill.independent.network import feed_forward, normed, turned
from truedraw.protocol import ModelConfig

Tensor = Any  # torch.Tensor
Weights = Mapping[str, Tensor]
LAYER = "layers.0."
ATTENTION, MLP = LAYER + "self_attn.", LAYER + "mlp."
FUSION, READ_NORM, LAST_NORM = "fc.weight", "input_norm.weight", "norm.weight"
TEXT_NORM, STATE_NORM = LAYER + "input_layernorm.weight", LAYER + "hidden_norm.weight"
INNER_NORM = LAYER + "post_attention_layernorm.weight"
OUTPUT = "output"
"""[width, width]: the target's output rows times it are `lm_head`."""
NAMES = (FUSION, READ_NORM, LAST_NORM, TEXT_NORM, STATE_NORM, INNER_NORM, OUTPUT,
         *(f"{ATTENTION}{part}_proj.weight" for part in "qkvo"),
         *(f"{MLP}{part}_proj.weight" for part in ("gate", "up", "down")))  # fmt: skip
"""Of all that is learnt."""


class Part(NamedTuple):
    """One text of a batch: rows from `start` to `end`, bases from number `first` to `last`."""

    start: int
    end: int
    first: int
    last: int


def fused(weights: Weights, features: Tensor) -> Tensor:
    """h [rows, width] of features [rows, streams * width]."""
    from torch.nn.functional import linear

    return linear(normed(features, weights[READ_NORM]), weights[FUSION]).float()


def read(weights: Weights, h: Tensor, embedded: Tensor) -> Tensor:
    """a [rows, 2 * width] of states and the embedded tokens behind them, [rows, width] each."""
    import torch

    return torch.cat([normed(embedded, weights[TEXT_NORM]), normed(h, weights[STATE_NORM])], -1)


def projected(
    weights: Weights, config: ModelConfig, a: Tensor, part: str, turn: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Heads [rows, any, head_dim] of part q, k or v, turned by cos and sin [rows, head_dim]."""
    from torch.nn.functional import linear

    heads = linear(a, weights[f"{ATTENTION}{part}_proj.weight"]).view(len(a), -1, config.head_dim).float()
    return heads if turn is None else turned(heads, (turn[0][:, None], turn[1][:, None]))


def passed(weights: Weights, h: Tensor, mixed: Tensor) -> Tensor:
    """z [rows, width] of states and what attention gave [rows, heads * head_dim]."""
    from torch.nn.functional import linear

    y = h + linear(mixed, weights[ATTENTION + "o_proj.weight"]).float()
    return y + feed_forward(weights, normed(y, weights[INNER_NORM]), MLP).float()


def said(weights: Weights, z: Tensor) -> Tensor:
    """What the target's output rows are multiplied with [rows, width]."""
    from torch.nn.functional import linear

    return linear(normed(z, weights[LAST_NORM]), weights[OUTPUT])


def attended(
    queries: Tensor, text: tuple[Tensor, Tensor], own: Sequence[tuple[Tensor, Tensor]], bases: Tensor,
    parts: Sequence[Part],
) -> Tensor:  # fmt: skip
    """[bases, heads * head_dim] for queries [bases, heads, head_dim].

    Each sees the keys and values of its text up to its base, and `own`, those of each draft behind that [bases,
    kv_heads, head_dim].
    """
    import torch

    count, heads, size = queries.shape
    q = queries.view(count, text[0].shape[1], -1, size) * size**-0.5  # [bases, kv_heads, group, head_dim]
    scores = [(q * keys[:, :, None]).sum(-1) for keys, _ in own]
    mixed = []
    for part in parts:
        some, rows = slice(part.first, part.last), slice(part.start, part.end)
        keys, values = (each[rows].transpose(0, 1)[:, None] for each in text)  # [kv_heads, 1, rows, head_dim]
        seen = torch.arange(part.start, part.end) <= bases[some, None]
        over = (q[some].permute(1, 2, 0, 3) @ keys.transpose(-1, -2)).float().masked_fill(~seen, -torch.inf)
        whole = torch.cat([over, *(each[some].permute(1, 2, 0)[..., None] for each in scores)], -1)
        shares = torch.softmax(whole, -1)
        found = (shares[..., : part.end - part.start] @ values).float()
        for number, (_, each) in enumerate(own):
            share = shares[..., part.end - part.start + number, None]
            found = found + share * each[some].transpose(0, 1)[:, None]
        mixed.append(found.permute(2, 0, 1, 3).reshape(part.last - part.first, heads * size))
    return torch.cat(mixed)
