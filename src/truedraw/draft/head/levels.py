"""The drawn trees of all texts of a round, level by level, with one call of the head's network each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.growing import Draws
from truedraw.draft.growth import Growth, Place
from truedraw.draft.head.cell import Cell
from truedraw.draft.head.refit.round import note
from truedraw.protocol import Logits, SparseLaw

if TYPE_CHECKING:
    from truedraw.draft.head.drafter import HeadState

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
    features = stacked([text.state.features for text in texts if text.state.features is not None])
    here, logits = cell.begin(features, np.array([text.state.last for text in texts]))
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


def stacked(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """[rows, ...]; one alone is no copy. numpy's own takes longer for so little."""
    if len(rows) == 1:
        return rows[0][None]
    found = np.empty((len(rows), *rows[0].shape), np.float32)
    for number, row in enumerate(rows):
        found[number] = row
    return found


def numbered(counts: Sequence[int]) -> list[list[int]]:
    """Row numbers of parts of these sizes, one behind the other."""
    ends = list(accumulate(counts, initial=0))
    return [list(range(start, end)) for start, end in pairwise(ends)]
