"""The drawn chain of one text: what levels.py grows of many texts' trees, with nothing that a chain does without.

A text that is alone waits for each of these lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from truedraw.draft.growing import MARGIN, Draws
from truedraw.draft.growth import Place, sureness
from truedraw.draft.head.cell import Cell
from truedraw.draft.head.known_rows import KnownRows
from truedraw.draft.shape import Level
from truedraw.protocol import ROOT, DraftLaw, Law, Logits, Proposal, SparseLaw

Laws = Callable[[Sequence[Place], Sequence[Logits]], list[SparseLaw | None]]
"""To draw from at the places of one level, from the head's logits [known] there."""
LINK: Level = ((0, 1),)


def is_chain(levels: Sequence[Level]) -> bool:
    """Whether a tree of these levels is one, of a token at least."""
    return len(levels) > 0 and all(level == LINK for level in levels)


def chain(cell: Cell, rows: KnownRows, law: Law, draws: Draws, laws: Laws, most: int) -> Proposal:
    """At most so many tokens behind a text whose rows are known; `law` is the draft's there."""
    tokens: list[int] = []
    reported: list[DraftLaw | None] = []
    sure: list[float] = []
    assert rows.features is not None
    states, logits = cell.begin(rows.features, np.array(rows.tokens, np.int64), *rows.tell())
    rows.told()
    place = Place(law)
    for depth in range(most):
        if depth:
            states, logits = cell.step(states, np.array(tokens[-1:], np.int64))
        q = laws((place,), (logits[0],))[0]
        chance = 0.0 if q is None else sureness(q)
        if q is None or not chance:
            break
        token, told = draws.token(q, depth, depth)
        tokens.append(token)
        reported.append(told)
        sure.append(min(max(chance, MARGIN), 1.0 - MARGIN))
        place = Place(place.law.after(token), depth, token)
    parents = np.arange(ROOT, ROOT + len(tokens), dtype=np.int64)
    return Proposal(np.array(tokens, np.int64), parents, tuple(reported), np.array(sure, np.float64))
