"""One token of each text, by temperature and top_p."""

from __future__ import annotations

from typing import Any

Tensor = Any  # torch.Tensor
ROWS = 1024  # whose probabilities stand in memory at once
LIKELIEST = 1024  # tokens among which top_p is looked for first: to sort all of a vocabulary takes many times as long


def drawn(logits: Tensor, temperature: Tensor, top_p: Tensor, noise: Any) -> Tensor:
    """Tokens [n] of logits [n, vocab]; temperature and top_p [n], noise: torch's generator on their device.

    A temperature of 0 takes the likeliest. top_p keeps the smallest set of likeliest tokens that reaches it (Holtzman
    et al., 1904.09751).
    """
    import torch

    parts = [slice(start, start + ROWS) for start in range(0, len(logits), ROWS)]
    return torch.cat([_drawn(logits[part].float(), temperature[part], top_p[part], noise) for part in parts])


def _drawn(logits: Tensor, temperature: Tensor, top_p: Tensor, noise: Any) -> Tensor:
    import torch

    likeliest = logits.argmax(-1)
    p = torch.softmax(logits / temperature.clamp_min(1e-6)[:, None], -1)
    if bool((top_p < 1).any()):
        p = _truncated(p, top_p)
    race = torch.empty_like(p).exponential_(generator=noise)  # the first of exponential clocks with rates p
    return torch.where(temperature > 0, (p / race).argmax(-1), likeliest)


def _truncated(p: Tensor, top_p: Tensor) -> Tensor:
    """Weights: p of the tokens that stay, 0 of the others."""
    ordered, tokens = p.topk(min(LIKELIEST, p.shape[-1]))
    found = _scattered(p, ordered, tokens, top_p)
    flat = (ordered.sum(-1) < top_p).nonzero()[:, 0]
    if len(flat):
        some = p[flat]
        ordered, tokens = some.sort(-1, descending=True)
        found[flat] = _scattered(some, ordered, tokens, top_p[flat])
    return found


def _scattered(p: Tensor, ordered: Tensor, tokens: Tensor, top_p: Tensor) -> Tensor:
    """What stays of values that fall, each at its token's place."""
    before = ordered.cumsum(-1) - ordered
    kept = ordered.masked_fill(before >= top_p[:, None], 0)
    return p.new_zeros(p.shape).scatter_(-1, tokens, kept)
