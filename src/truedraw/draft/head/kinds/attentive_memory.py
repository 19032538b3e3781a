"""What an attentive head remembers of the texts that it drafts for: keys and values of their rows, the last ones."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.kinds.attentive_step import HEADS, REACH, SIZE

Arrays = tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.int64]]
"""Keys and values [slots, heads, places, size] in bfloat16's bits, and which rows of their texts those places have."""
PLACES = REACH + 128  # of a text: when they are full, those that are still looked at move to the front
MOST_AT_ONCE = PLACES - REACH + 1  # rows that come
FEWEST = 4  # texts that there is room for at first


class Memories:
    """Of all texts of a head, a slot each; the first one is nobody's, and stays empty."""

    def __init__(self) -> None:
        self._begin()

    def take(self) -> int:
        """A slot; where nobody has one, room for many texts of earlier goes first."""
        if len(self._free) == len(self.arrays[0]) - 1 > FEWEST:
            self._begin()
        if not self._free:
            self._grow()
        return self._free.pop()

    def give_back(self, slot: int) -> None:
        """Whose text is gone; may come at any time, as from a finalizer."""
        self._free.append(slot)

    def _begin(self) -> None:
        self.arrays = _room(FEWEST)
        self._free = list(range(FEWEST - 1, 0, -1))

    def _grow(self) -> None:
        held = len(self.arrays[0])
        more = _room(2 * held)
        for k in range(len(more)):
            more[k][:held] = self.arrays[k]
        self.arrays = more
        self._free.extend(range(2 * held - 1, held - 1, -1))


class Memory:
    """Of one text, whose rows come in their order; some may be missing. It takes a slot when the first ones come."""

    def __init__(self, memories: Memories) -> None:
        self._memories, self._slot = memories, 0
        self._held, self._end = 0, 0  # rows; behind the last one in the text
        self._give_back: weakref.finalize[[int], Memory] | None = None

    @property
    def slot(self) -> int:
        """Its own."""
        self._take()
        return self._slot

    @property
    def arrays(self) -> Arrays:
        """Of all texts; where a slot is taken there may be others."""
        return self._memories.arrays

    def _take(self) -> None:
        if self._give_back is None:
            self._slot = self._memories.take()
            self._give_back = weakref.finalize(self, self._memories.give_back, self._slot)

    def close(self) -> None:
        """Nothing is remembered any more."""
        if self._give_back is not None:
            self._give_back()
            self._give_back, self._held = None, 0

    def place(self, first: int, count: int) -> tuple[int, bool]:
        """Room for rows of the text, MOST_AT_ONCE at most, the first of which may be the last one again: the place of
        the last, and whether the row before the first has the place before."""
        start = self.room(first, count)
        rows = self.arrays[2][self.slot]
        self.came(count)
        for row in range(count):
            rows[start + row] = first + row
        return self._held - 1, start > 0 and bool(rows[start - 1] == first - 1)

    def room(self, first: int, count: int) -> int:
        """The place of the first of so many that may come."""
        if first > self._end:
            self._held = max(self._held - 1, 0)  # half of the heads want to know what came behind a row
        elif first < self._end:
            self._held = max(self._held - (self._end - first), 0)
        self._end = first
        if self._held + count > PLACES:
            self._move()
        self._take()
        return self._held

    def came(self, count: int) -> None:
        """So many have."""
        self._held, self._end = self._held + count, self._end + count

    def _move(self) -> None:
        keys, values, rows = self._memories.arrays
        kept = slice(self._held - REACH + 1, self._held)
        for each in (keys[self.slot], values[self.slot]):
            each[:, : REACH - 1] = each[:, kept]
        rows[self.slot, : REACH - 1] = rows[self.slot, kept]
        self._held = REACH - 1


def _room(slots: int) -> Arrays:
    shape = slots, HEADS, PLACES, SIZE
    return np.zeros(shape, np.uint16), np.zeros(shape, np.uint16), np.zeros((slots, PLACES), np.int64)
