"""How much of its drafts the target keeps, on held-out text."""

from __future__ import annotations

import numpy as np

from truedraw.distill.eagle.gradients import there
from truedraw.distill.eagle.unrolling import Draft, Unrolling
from truedraw.distill.eagle.whole_rows import WholeRows
from truedraw.distill.evaluation import CHAIN, Measured, chances, tokens_of
from truedraw.protocol import Floats, Ints

TEXTS_AT_ONCE = 4


def measured(draft: Draft, texts: WholeRows, temperature: float, most: int) -> Measured:
    """At about so many rows of held-out text, of texts drawn at this temperature if there are any."""
    numbers = chosen(texts, temperature, most)
    parts = [numbers[start : start + TEXTS_AT_ONCE] for start in range(0, len(numbers), TEXTS_AT_ONCE)]
    kept = np.concatenate([kept_in(draft, texts, part, temperature) for part in parts])
    return Measured(tuple(map(float, kept.mean(0))), float(tokens_of(kept).mean()), len(kept))


def chosen(texts: WholeRows, temperature: float, most: int) -> list[int]:
    """Held-out texts, evenly spread, with about so many rows; as a whole text is read for each."""
    data, held = texts.data, texts.held
    drawn = held[np.isclose(data.temperature[texts.firsts[held]], temperature)]
    some = drawn if len(drawn) else held
    rows = int(texts.sizes[some].sum())
    found: list[int] = some[:: max(1, -(-rows // most))].tolist()
    return found


def kept_in(draft: Draft, texts: WholeRows, numbers: list[int], temperature: float) -> Floats:
    """[rows, CHAIN]: the chance that each draft is kept behind all rows of these texts that a chain follows."""
    import torch

    batch, data = texts.batch(numbers), texts.data
    followed: Ints = np.flatnonzero(there(batch, batch.bases, CHAIN))
    columns = []
    with torch.no_grad():
        drafts = Unrolling(draft, data, batch)
        drafts.keep(followed)
        for position in range(1, CHAIN + 1):
            logits = drafts.go_on().float() @ draft.known.readout.T
            columns.append(chances(draft.known, logits, data, batch.rows[drafts.at + position], temperature))
    return np.stack(columns, 1).astype(np.float64)
