"""Attention that reads each key and value once for all heads that share it.

The eager form of transformers copies them for every head first, which is most of a step's time where thousands of texts
have one new row each.
"""

from __future__ import annotations

from typing import Any

Tensor = Any  # torch.Tensor
NAME = "truedraw_grouped"
FAMILIES = ("llama", "qwen2", "qwen3")
"""Architectures whose attention is just this: no caps, no sinks. Windows are no matter while texts are shorter."""


def take_grouped(model: Any) -> None:
    """Let a model of such a family compute so; others stay as they are."""
    if model.config.model_type not in FAMILIES:
        return
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, grouped)
    model.set_attn_implementation(NAME)


def grouped(
    _module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, scaling: float, **_: Any
) -> tuple[Tensor, None]:
    """As transformers calls it: query [n, heads, rows, width], key and value [n, shared, columns, width].

    Without a mask the text is causal and stands alone.
    """
    import torch

    texts, heads, rows, width = query.shape
    if attention_mask is None:
        found = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, scale=scaling, is_causal=True, enable_gqa=True
        )
        return found.transpose(1, 2).contiguous(), None
    shared = key.shape[1]
    together = (query * scaling).reshape(texts, shared, heads // shared * rows, width)
    scores = (together @ key.transpose(2, 3)).view(texts, heads, rows, -1).add_(attention_mask)
    shares = torch.softmax(scores, -1, dtype=torch.float32).to(query.dtype)
    found = (shares.view(texts, shared, -1, key.shape[2]) @ value).view(texts, heads, rows, width)
    return found.transpose(1, 2).contiguous(), None
