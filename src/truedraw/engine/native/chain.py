"""The rows of one text that is alone, pass after pass: what `compute` takes of them changes in place (see rows.py)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Seq
from typing import Any

import numpy as np

from truedraw.engine.native.spans import Sharing
from truedraw.protocol import Ints, PassJob
from truedraw.threads.kept import Kept

Told = tuple[tuple[Ints, ...], tuple[Any, ...]]
"""As Rows.arrays."""
Given = tuple[Any, ...]
"""What `compute` is given, with its memory and counters in these places."""
MEMORY, COUNTERS = 4, 5
NONE: Ints = np.zeros(0, np.int64)


class Chain:
    """Of a text that has `pages` for `longest` tokens; shown: hidden states are wanted of all rows."""

    def __init__(self, pages: Seq[int], longest: int, shown: bool, sharing: Sharing) -> None:
        self.longest, self._held, self._sharing = longest, [*pages], sharing
        self._pages, self._shown = np.array(pages, np.int64), shown
        self._made: dict[int, Told] = {}
        self._jobs: dict[int, tuple[Given, PassJob]] = {}  # and their memory

    def holds(self, pages: Seq[int]) -> bool:
        """Whether these are the pages."""
        return self._held == pages

    def shape(self, n: int) -> tuple[int, int, int]:
        """Rows of a pass over n tokens, those with logits and those with hidden states."""
        return n, n, n if self._shown else 0

    def at(self, past: int, ids: Seq[int]) -> Told:
        """Of tokens that follow so many of the text, each with its logits; the next call overwrites it."""
        n = len(ids)
        found = self.rows(n)
        (own_ids, positions, *_), lanes = found
        own_ids[:] = ids
        positions[:] = range(past, past + n)
        lanes[0][0] = past
        return found

    def rows(self, n: int) -> Told:
        """Of n tokens, the same each time."""
        if n not in self._made:
            self._made[n] = self._make(n)
        return self._made[n]

    def job(self, n: int, memory: tuple[Any, ...], compute: Callable[..., None], make: Callable[[], Given]) -> PassJob:
        """Of a pass over n tokens in that memory; `make` gives what it is given, where that is not known yet."""
        known = self._jobs.get(n)
        if known is None or known[0] is not memory:
            known = memory, pass_job(compute, make(), self.rows(n), self._shown)
            self._jobs[n] = known
        return known[1]

    def _make(self, n: int) -> Told:
        rows = np.arange(n, dtype=np.int64)
        begins, page_begins = np.array([0, n], np.int64), np.array([0, len(self._pages)], np.int64)
        masks, mask_begins = np.zeros(0, np.uint8), np.zeros(2, np.int64)
        spans = rows[:: self._sharing.span(n, self.longest)].copy()
        numbers = np.empty(n, np.int64), np.empty(n, np.int64), rows, rows if self._shown else NONE
        past, lane_of = np.empty(1, np.int64), np.zeros(n, np.int64)
        return numbers, (past, begins, self._pages, page_begins, masks, mask_begins, lane_of, spans, self.longest)


def pass_job(compute: Callable[..., None], given: Given, told: Told, shown: bool) -> PassJob:
    """Of a pass that is told of its rows in these arrays; shown: hidden states are wanted."""
    (ids, positions, *_), lanes = told
    logits, hidden = given[MEMORY][3], given[MEMORY][4] if shown else None
    return PassJob(Kept(compute, given), given[COUNTERS], ids, positions, lanes[0], logits, hidden)
