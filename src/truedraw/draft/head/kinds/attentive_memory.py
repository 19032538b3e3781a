"""What an attentive head remembers of the texts that it drafts for: keys and values of their rows, the last ones."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.kinds.attentive_step import HEADS, REACH, SIZE

Arrays = tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.int64]]
"""Keys and values [slots, heads, places, size] in bfloat16's bits, and which rows of their texts those places have."""
PLACES = REACH + 128  # of a text: when they are full, those that are still looked at move to the front
FEWEST = 4  # texts that there is room for at first


class Memories:
    """Of all texts of a head, a slot each; the first one is nobody's, and stays empty."""

    def __init__(self) -> None:
        self.arrays = _room(FEWEST)
        self._free = list(range(FEWEST - 1, 0, -1))

    def take(self) -> int:
        """A slot."""
        if not self._free:
            held = len(self.arrays[0])
            more = _room(2 * held)
            for k in range(len(more)):
                more[k][:held] = self.arrays[k]
            self.arrays, self._free = more, list(range(2 * held - 1, held - 1, -1))
        return self._free.pop()

    def give_back(self, slot: int) -> None:
        """Whose text is gone."""
        self._free.append(slot)


class Memory:
    """Of one text, whose rows come in their order; some may be missing."""

    def __init__(self, memories: Memories) -> None:
        self.slot, self._memories = memories.take(), memories
        self._held, self._end = 0, 0  # rows; behind the last one in the text
        weakref.finalize(self, memories.give_back, self.slot)

    def place(self, first: int, count: int) -> tuple[int, bool]:
        """Room for rows of the text, the first of which may be the last one again: the place of the last, and
        whether the row before the first has the place before."""
        if first > self._end:
            self._held = max(self._held - 1, 0)  # half of the heads want to know what came behind a row
        elif first < self._end:
            self._held = max(self._held - (self._end - first), 0)
        if self._held + count > PLACES:
            self._move()
        rows, start = self._memories.arrays[2][self.slot], self._held
        self._held, self._end = start + count, first + count
        for row in range(count):
            rows[start + row] = first + row
        return self._held - 1, start > 0 and bool(rows[start - 1] == first - 1)

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
