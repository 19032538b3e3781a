"""The gradient of one step: drafts behind every row of whole texts, later ones made of the network's own states."""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.distill.eagle.unrolling import Draft, Unrolling
from truedraw.distill.eagle.whole_rows import Batch
from truedraw.distill.gradients import Blend, Seen, pulled
from truedraw.distill.rows import Rows
from truedraw.distill.windows import FEWER_FROM, POSITIONS
from truedraw.protocol import Ints

Tensor = Any  # torch.Tensor
EVERY = 2  # bases from FEWER_FROM on, of which one is gone on with: later positions matter less, and cost as much


def gradient(draft: Draft, data: Rows, batch: Batch, blend: Blend, look: bool = False) -> Seen | None:
    """Add the step's gradient to the weights' own; `look`: also tell what was seen."""
    import torch

    known, seen = draft.known, []
    laws = known.law(data, batch.rows[batch.bases + 1])  # [bases, known]
    total: Tensor = 0
    with torch.autocast("cpu", known.fast, enabled=known.fast != torch.float32):
        drafts, some = Unrolling(draft, data, batch), np.arange(len(batch.bases))
        for position in range(1, POSITIONS + 1):
            if position == FEWER_FROM:
                drafts.keep(some[::EVERY])
                some = some[::EVERY]
            out = drafts.go_on()
            p = laws.index_select(0, torch.from_numpy(np.minimum(some + position - 1, len(laws) - 1)))
            counts = torch.from_numpy(there(batch, drafts.at, position).astype(np.float32))
            weighted = counts * (blend.survival[position - 1] / len(some))
            part, found = pulled(out.float(), known, (p, weighted, counts), blend, look)
            total = total + part
            seen.append(found)
    total.backward()
    return Seen(seen[0][0], tuple(each[1] for each in seen)) if look else None


def there(batch: Batch, bases: Ints, position: int) -> Any:
    """[bases]: whether the store has a law for the draft so many places behind them."""
    return bases + position < batch.end_of(bases)
