"""Rows of logits by the text they follow: what was computed once is not computed again.

A row belongs to a text alone, not to how it is sampled, so one row serves further samples, other temperatures and
other truncations of the same context. What comes back has the very bits that were stored.

What is kept is what will most likely be asked for. The worth of a row is the expected number of samples that pass it:
the sum, over the samples that did, of the probability with which a sample reaches it. Every part of the sum fades with
the turnovers of the cache (one is as many rows leaving or refused as there are), so that contexts nobody asks for any
more leave. As all fade at one pace, their order does not change by itself: a row is ranked when it is stored and when
it is passed (the combined recency and frequency of Lee et al., 2001, IEEE Trans. Computers 50(12), weighted by reach),
and a heap gives the least worthy in O(log n).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from math import log2

from truedraw.engine.logits_places import Place, Places
from truedraw.engine.logits_rows import LEAST_BYTES, Packed, pack, unpack
from truedraw.errors import BadParameter
from truedraw.protocol import Logits

ROW_BYTES = 1024  # Python's objects around a row: array, record, key, their share of the tables; rounded up
NODE_BYTES = 896  # the same around a node
HALVINGS = 0.125  # of a row's worth a turnover; more forgets what comes round again, less clings to what does not
LEAST_VALUE = 2.0**-1000  # long texts have a reach that is 0 in floating point


@dataclass(frozen=True, slots=True)
class LogitsCacheUse:
    """What a cache holds and what it did: a hit is a row that needed no pass."""

    hits: int
    misses: int
    rows: int
    bytes: int  # of rows, of the trie and of what Python puts around them
    evicted: int  # rows that made room for worthier ones
    refused: int = 0  # rows not stored, as everything there was worthier or the cache is too small


@dataclass(slots=True)
class Row:
    """A row in the cache."""

    packed: Packed
    value: float  # as last given
    rank: float  # log2 of its worth, had it faded since the clock's beginning


class LogitsCache:
    """Belongs to one engine and one thread: places say nothing about which model computed a row.

    Never holds more than `max_bytes`, bookkeeping included; 0 turns it off. A place that a caller holds is the
    caller's, and is not counted until a row is stored there.
    """

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 0:
            raise BadParameter("max_bytes", f"got {max_bytes}; give a number of bytes, or 0 for no cache of logits")
        self._max_bytes = max_bytes
        self._places = Places()
        self._rows: dict[Place, Row] = {}
        self._heap: list[tuple[float, int, Place]] = []  # one a row: a rank it had, a number, where it is
        self._clock = 0.0  # halvings
        self._is_whole = True  # what stands in the tables goes together
        self._bytes = self._hits = self._misses = self._stored = self._evicted = self._refused = 0

    @property
    def use(self) -> LogitsCacheUse:
        """Counts since the beginning, and what is there now."""
        return LogitsCacheUse(self._hits, self._misses, len(self._rows), self._bytes, self._evicted, self._refused)

    def enter(self, tokens: Iterable[int]) -> Place:
        """Where a text stands, whether or not anything is stored there; O(length)."""
        return self._places.enter(tokens)

    def step(self, place: Place, token: int) -> Place:
        """The place one token later; O(1)."""
        return self._places.step(place, token)

    def logits(self, place: Place) -> Logits | None:
        """The row [vocab] that was stored here, bit for bit, in an array of its own; None where there is none."""
        row = self._rows.get(place)
        if row is None:
            self._misses += 1
            return None
        self._hits += 1
        self._passed(row)
        return unpack(row.packed)

    def store(self, place: Place, logits: Logits, value: float) -> None:
        """Keep a copy of a row [vocab], unless everything that would have to leave for it is worth more.

        `value` is the probability with which a sample passes here. A row that is there already stays as it is, and
        counts as passed once more.
        """
        value = max(LEAST_VALUE, value)
        row = self._rows.get(place)
        if row is not None:
            row.value = value
            self._passed(row)
            return
        if not self._is_whole:
            self._forget_all()
        rank = self._clock + log2(value)
        packed = pack(logits) if self._may_fit(logits, rank) else None
        self._is_whole = False
        if packed is not None and self._make_room(place, packed, rank):
            self._add(place, Row(packed, value, rank))
        else:
            self._refused += 1
            self._turn()
        self._is_whole = True

    def _forget_all(self) -> None:
        """An interruption has left something half stored, or half gone."""
        self._rows, self._heap, self._bytes = {}, [], 0
        self._places.hold_nothing()

    def _passed(self, row: Row) -> None:
        worth = 2.0 ** (row.rank - self._clock) + row.value
        row.rank = max(row.rank, self._clock + log2(worth))  # rounding must not lower it

    def _may_fit(self, logits: Logits, rank: float) -> bool:
        """False spares the packing."""
        least = self._bytes + ROW_BYTES + LEAST_BYTES * logits.size
        return least <= self._max_bytes or (bool(self._rows) and self._least_rank() <= rank)

    def _make_room(self, place: Place, packed: Packed, rank: float) -> bool:
        """Let go what is worth less, until the row fits; False where it does not."""
        needed = packed.entries.nbytes + ROW_BYTES
        if needed + NODE_BYTES * place.node.depth > self._max_bytes:
            return False
        while self._bytes + needed + NODE_BYTES * place.node.unheld() > self._max_bytes:
            if self._least_rank() > rank:
                return False
            self._evict()
        return True

    def _add(self, place: Place, row: Row) -> None:
        self._rows[place] = row
        self._stored += 1
        heappush(self._heap, (row.rank, self._stored, place))
        self._bytes += row.packed.entries.nbytes + ROW_BYTES + NODE_BYTES * place.node.hold()

    def _least_rank(self) -> float:
        """Of any row. Ranks only rise, so what stands first in the heap is first once its rank is up to date."""
        while True:
            noted, number, place = self._heap[0]
            rank = self._rows[place].rank
            if noted == rank:
                return rank
            heapreplace(self._heap, (rank, number, place))

    def _evict(self) -> None:
        """The row of least rank, which `_least_rank` has put first."""
        place = heappop(self._heap)[-1]
        row = self._rows.pop(place)
        self._bytes -= row.packed.entries.nbytes + ROW_BYTES + NODE_BYTES * place.node.release()
        self._evicted += 1
        self._turn()

    def _turn(self) -> None:
        """A row left or was refused: a part of a turnover."""
        self._clock += HALVINGS / (1 + len(self._rows))
