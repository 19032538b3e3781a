"""The gradient of one step: teacher-forced drafts behind every row of some windows.

Logits are as wide as the known vocabulary, and products with it are most of the work. So the loss's derivative by the
logits is written out (losses.py), brought back through that one product by hand, and only from there on by torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from truedraw.distill.head import Head, scaled
from truedraw.distill.known import Known
from truedraw.distill.looking_back import in_windows
from truedraw.distill.losses import blended, loss_of
from truedraw.distill.windows import Windows, num_windows
from truedraw.protocol import Floats

Tensor = Any  # torch.Tensor


class Blend(NamedTuple):
    """A loss's name, and its share; the rest is forward KL. survival: chances that a position is reached."""

    loss: str
    share: float
    survival: Sequence[float]


class Seen(NamedTuple):
    """What a step saw: the loss at the first position, and the acceptance at each."""

    loss: float
    acceptance: tuple[float, ...]


def gradient(head: Head, where: Windows, blend: Blend, look: bool = False) -> Seen | None:
    """Add the step's gradient to the weights' own; `look`: also tell what was seen."""
    import torch

    network, known, data, (count, length) = head.network, head.known, where.data, where.rows.shape
    behind = where.rows[:, :1] + np.arange(1, length + network.positions)[None]
    laws, recall = known.law(data, behind), in_windows(head, where)
    seen = []
    total: Tensor = 0
    with torch.autocast("cpu", known.fast, enabled=known.fast != torch.float32):
        x = network.begin(head.weights, scaled(data, where.rows, head.scale)).float().view(count, length, -1)
        for position in range(1, network.positions + 1):
            some = num_windows(position, count)
            tokens = data.tokens[where.behind(position, some)]
            x, out = head.behind(x[:some], known.embedded[data.on(tokens)], position, recall)
            x = x.float()
            p = laws[:some, position - 1 : position - 1 + length]
            counts = data.on(where.counts(position, some)).float()
            weighted = counts * (blend.survival[position - 1] / (some * length))
            part, found = pulled(out.float(), known, (p, weighted, counts), blend, look)
            total = total + part
            seen.append(found)
    total.backward()
    return Seen(seen[0][0], tuple(each[1] for each in seen)) if look else None


def pulled(
    read_out: Tensor, known: Known, law: tuple[Tensor, Tensor, Tensor], blend: Blend, look: bool
) -> tuple[Tensor, tuple[float, float]]:
    """A scalar whose derivative by `read_out` [..., width] is the loss's, and (loss, acceptance) where these are asked
    for. law: p [..., known], weights [...], and which rows count at all [...]."""
    import torch

    p, weighted, counts = law
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        rows = known.readout.to(known.fast)
        q = torch.softmax((read_out.to(known.fast) @ rows.T).float(), -1)
        found = _seen(p, q, counts, blend.loss) if look else (0.0, 0.0)
        by_logits = blended(blend.loss, blend.share, p, q).mul_(weighted[..., None])
        pull = (by_logits.to(known.fast) @ rows).float()
    return (read_out * pull).sum(), found


def _seen(p: Tensor, q: Tensor, counts: Tensor, loss: str) -> tuple[float, float]:
    whole = counts.sum().clamp_min(1)
    value = (loss_of(loss).value(p, q) * counts).sum() / whole
    return value.item(), ((p.minimum(q).sum(-1) * counts).sum() / whole).item()


def survival_of(acceptance: Sequence[float]) -> Floats:
    """The chance that each position is reached, from the acceptance at each."""
    found: Floats = np.array([1.0, *acceptance[:-1]], np.float64).cumprod()
    return found
