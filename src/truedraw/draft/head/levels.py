"""The drawn trees of all texts of a round, level by level, with one call of the head's network each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from truedraw.draft.growing import Draws
from truedraw.draft.growth import Growth, Place
from truedraw.draft.head.cell import Cell, States
from truedraw.draft.head.refit.round import note
from truedraw.protocol import Logits, SparseLaw

if TYPE_CHECKING:
    from truedraw.draft.head.known_rows import KnownRows
    from truedraw.draft.head.state import HeadState

Laws = Callable[[int, Sequence[Place], Sequence[Logits]], list[SparseLaw | None]]
"""The laws to draw from at the places of one level of text number so-and-so, from the head's logits [known] there."""


class Text(NamedTuple):
    """One text in a round."""

    state: HeadState
    growth: Growth
    draws: Draws
    laws: Callable[[Sequence[Place], Sequence[Logits]], list[SparseLaw | None]]


def grow(cell: Cell, texts: Sequence[Text]) -> None:
    """Draw all that the texts' growths want; the target has shown each of them its hidden states."""
    here, logits = _begun(cell, [text.state.rows for text in texts])
    rows = [[number] for number in range(len(texts))]  # of each text, those of the places to be drawn at
    while True:
        note(cell, here, [(text.state.seen, text.growth) for text in texts], rows)
        for text, own in zip(texts, rows, strict=True):
            if places := text.growth.wanted():
                text.growth.grow(text.laws(places, [logits[row] for row in own]), text.draws)
        wanted = [text.growth.wanted() for text in texts]
        above = [own[place.row] for own, places in zip(rows, wanted, strict=True) for place in places]
        if not above:
            return
        here, logits = cell.step(here[above], np.array([place.token for places in wanted for place in places]))
        rows = numbered([len(places) for places in wanted])


def _begun(cell: Cell, rows: Sequence[KnownRows]) -> tuple[States, Logits]:
    """Behind the last rows of texts; one alone is no copy."""
    features = [each.features for each in rows if each.features is not None]
    joined = features[0] if len(features) == 1 else np.concatenate(features)
    last = np.array([token for each in rows for token in each.tokens])
    found = cell.begin(joined, last, *(past for each in rows for past in each.tell()))
    for each in rows:
        each.told()
    return found


def numbered(counts: Sequence[int]) -> list[list[int]]:
    """Row numbers of parts of these sizes, one behind the other."""
    ends = list(accumulate(counts, initial=0))
    return [list(range(start, end)) for start, end in pairwise(ends)]
