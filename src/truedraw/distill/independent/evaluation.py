"""How much of its drafts the target keeps, on held-out text.

What this draft says behind a text depends on the text alone, not on where a round began: one law a row is enough, and
the places of a chain differ only in which rows they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from truedraw.distill.evaluation import CHAIN, GREEDY, Measured, tokens_of
from truedraw.distill.independent.gradients import Draft, read
from truedraw.distill.independent.whole_texts import Batch, WholeTexts
from truedraw.distill.independent.words import Columns, every, law
from truedraw.distill.store import TEMPERATURES
from truedraw.protocol import Floats, Ints

Tensor = Any  # torch.Tensor
ROWS_AT_ONCE = 128  # whose logits are made at a time
TEXTS_AT_ONCE = 8


def measured(
    draft: Draft, texts: WholeTexts, temperature: float, most: int, columns: Columns | None = None
) -> Measured:
    """At about so many rows of held-out text, of texts drawn at this temperature if there are any.

    `columns`: what is looked at of the vocabulary; None: all of it.
    """
    wanted = whole(texts, temperature, most)
    chains = wanted[:, None] + np.arange(1, 1 + CHAIN)  # [rows, CHAIN]
    some = np.unique(chains)
    kept = kept_at(draft, texts, some, temperature, columns or every(draft.words.vocab_size))
    found = kept[np.searchsorted(some, chains)]
    return Measured(tuple(map(float, found.mean(0))), float(tokens_of(found).mean()), len(wanted))


def whole(texts: WholeTexts, temperature: float, most: int) -> Ints:
    """The rows of some held-out texts, evenly spread, that a chain follows; as a whole text is read for each."""
    data = texts.data
    rows = data.held_out(temperature, data.count, CHAIN)
    numbers = np.unique(data.texts[rows])
    return rows[np.isin(data.texts[rows], numbers[:: max(1, -(-len(rows) // most))])]


def kept_at(draft: Draft, texts: WholeTexts, rows: Ints, temperature: float, columns: Columns) -> Floats:
    """[rows]: the chance that a draft is kept behind each of these rows of the store, which rise.

    A row that no network sees, because its text is too long, keeps none.
    """
    import torch

    found = np.zeros(len(rows))
    with torch.no_grad():
        target = draft.words.target(columns)
        out = draft.words.rows(draft.weights, columns.tokens).to(target.dtype)
        for batch in _batches(texts, rows):
            some = np.flatnonzero(np.isin(batch.rows, rows))
            behind = read(draft, batch)[torch.from_numpy(some)]
            for first in range(0, len(some), ROWS_AT_ONCE):
                at = batch.rows[some[first : first + ROWS_AT_ONCE]]
                fast = behind[first : first + ROWS_AT_ONCE].to(target.dtype)
                logits = (fast @ out.T).float()
                p = None if temperature == GREEDY else _law(texts, at, (target, columns), temperature)
                found[np.searchsorted(rows, at)] = _kept(logits, p, (columns, texts.data.tops[at]), temperature)
    return found


def _batches(texts: WholeTexts, rows: Ints) -> Iterator[Batch]:
    numbers = np.unique(texts.data.texts[rows]).tolist()
    for start in range(0, len(numbers), TEXTS_AT_ONCE):
        yield texts.batch(numbers[start : start + TEXTS_AT_ONCE])


def _law(texts: WholeTexts, at: Ints, of: tuple[Tensor, Columns], temperature: float) -> Tensor:
    return law(texts.data, at, *of, place=TEMPERATURES.index(temperature))


def _kept(logits: Tensor, p: Tensor | None, of: tuple[Columns, Ints], temperature: float) -> Floats:
    import torch

    columns, tops = of
    if p is None:
        return np.asarray(columns.tokens[logits.argmax(-1).numpy()] == tops, np.float64)
    q = torch.softmax(columns.counted(logits / temperature), -1)
    return np.asarray(p.minimum(q).sum(-1).numpy(), np.float64)
