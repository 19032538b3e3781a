"""Two samples at one place, for attacks on drafters."""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.protocol import ROOT, Floats, Proposal, Purpose, Randomness
from truedraw.testing import TableDrafter


def side_by_side(tokens: list[int], laws: list[Floats | None]) -> Proposal:
    """All follow the committed text."""
    return Proposal(np.array(tokens, dtype=np.int64), np.full(len(tokens), ROOT), tuple(laws))


def two_samples(drafter: TableDrafter, state: Any, randomness: Randomness) -> tuple[Floats, list[int]]:
    """q [vocab] and two independent draws from it."""
    q = drafter.law_after(state, state.text)
    return q, [randomness.choose(q, Purpose.DRAFT, len(state.text), node) for node in (0, 1)]
