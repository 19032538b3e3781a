"""The rows of one text that is alone, pass after pass: what `compute` takes of them changes in place (see rows.py)."""

from __future__ import annotations

from collections.abc import Sequence as Seq

import numpy as np

from truedraw.engine.native.looking import SPAN
from truedraw.protocol import Ints

Told = tuple[tuple[Ints, ...], tuple[object, ...]]
"""As Rows.arrays."""
NONE: Ints = np.zeros(0, np.int64)


class Chain:
    """Of a text that has `pages` for `longest` tokens; shown: hidden states are wanted of all rows."""

    def __init__(self, pages: Seq[int], longest: int, shown: bool) -> None:
        self.longest, self.shape = longest, (0, 0, 0)
        self._pages, self._shown = np.array(pages, np.int64), shown
        self._made: dict[int, Told] = {}

    def at(self, past: int, ids: Seq[int]) -> Told:
        """Of tokens that follow so many of the text, each with its logits; the next call overwrites it."""
        n = len(ids)
        if n not in self._made:
            self._made[n] = self._make(n)
        found = self._made[n]
        (own_ids, positions, *_), lanes = found
        own_ids[:] = ids
        positions[:] = range(past, past + n)
        lanes[0][0] = past  # type: ignore[index] # an array
        self.shape = n, n, n if self._shown else 0
        return found

    def _make(self, n: int) -> Told:
        rows = np.arange(n, dtype=np.int64)
        begins, page_begins = np.array([0, n], np.int64), np.array([0, len(self._pages)], np.int64)
        masks, mask_begins, spans = np.zeros(0, np.uint8), np.zeros(2, np.int64), rows[::SPAN].copy()
        numbers = np.empty(n, np.int64), np.empty(n, np.int64), rows, rows if self._shown else NONE
        past, lane_of = np.empty(1, np.int64), np.zeros(n, np.int64)
        return numbers, (past, begins, self._pages, page_begins, masks, mask_begins, lane_of, spans, self.longest)
