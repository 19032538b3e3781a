"""The gradient of one step: whole texts, the target's law at each row of an answer.

As in distill/gradients.py, the loss's derivative by the logits is written out and brought back through the product
with the output rows by hand, some rows at a time: logits are too wide to keep.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from truedraw.distill.independent.network import states
from truedraw.distill.independent.whole_texts import Batch
from truedraw.distill.independent.words import Columns, Vocabulary, Weights, law
from truedraw.distill.known import fast_type
from truedraw.distill.losses import blended, loss_of
from truedraw.distill.rows import Rows
from truedraw.protocol import ModelConfig

Tensor = Any  # torch.Tensor
ROWS_AT_ONCE = 256  # logits of so many rows are made at a time: what a processor's cache holds a part of


class Draft(NamedTuple):
    """The network, and all it works with. weights: what is learnt, by name."""

    config: ModelConfig
    weights: Weights
    words: Vocabulary


class Sums(NamedTuple):
    """Over rows: the loss, and the chance that a draft is kept."""

    loss: float
    kept: float


def read(draft: Draft, batch: Batch) -> Tensor:
    """States [rows, width] behind which the rows of a batch have their law."""
    import torch

    fast = fast_type()
    with torch.autocast("cpu", fast, enabled=fast != torch.float32):
        x = states(draft.weights, draft.config, draft.words.embedded(draft.weights, batch.tokens).float())
    return x.float().flatten(0, 1).index_select(0, torch.from_numpy(batch.at))


def gradient(
    draft: Draft, data: Rows, batch: Batch, columns: Columns, blend: tuple[str, float], look: bool = False
) -> Sums | None:
    """Add the step's gradient, of the mean over rows, to the weights' own; `look`: also tell what was seen.

    blend: a loss's name, and its share; the rest is forward KL.
    """
    import torch

    behind, rows = read(draft, batch), draft.words.rows(draft.weights, columns.tokens)
    target = draft.words.target(columns)
    pulls, pulled, seen = [], torch.zeros_like(rows), []
    with torch.no_grad():
        read_from = rows.to(target.dtype)
        for part, at in zip(behind.split(ROWS_AT_ONCE), _split(batch), strict=True):
            fast = part.to(target.dtype)
            p = law(data, at, target, columns)
            q = torch.softmax(columns.counted((fast @ read_from.T).float()), -1)
            if look:
                seen.append(_seen(p, q, blend[0]))
            by_logits = blended(*blend, p, q).to(target.dtype)
            pulls.append((by_logits @ read_from).float())
            pulled += (by_logits.T @ fast).float()
    (((behind * torch.cat(pulls)).sum() + (rows * pulled).sum()) / len(batch.rows)).backward()
    return Sums(*(sum(each) / len(batch.rows) for each in zip(*seen, strict=True))) if look else None


def _split(batch: Batch) -> list[Any]:
    return [batch.rows[start : start + ROWS_AT_ONCE] for start in range(0, len(batch.rows), ROWS_AT_ONCE)]


def _seen(p: Tensor, q: Tensor, loss: str) -> tuple[float, float]:
    return loss_of(loss).value(p, q).sum().item(), p.minimum(q).sum().item()
