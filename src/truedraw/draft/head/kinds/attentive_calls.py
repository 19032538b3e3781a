"""The calls of an attentive head for one text, kept for compiled code: attentive_chain.py makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from truedraw.draft.head.kinds.attentive_chain import END, HELD, STEPS
from truedraw.draft.head.kinds.attentive_memory import MOST_AT_ONCE, Memory
from truedraw.draft.head.kinds.attentive_step import BEHIND, FOLLOWS, SLOT, STAGES, compute
from truedraw.engine.constants.matrix import Matrix
from truedraw.protocol import Ints
from truedraw.threads.crew import Crew
from truedraw.threads.kept import Kept
from truedraw.threads.stages import counters

Call = Callable[..., tuple[Any, ...]]
"""What `compute` is given: of features, states, embedded tokens, what is told, who looks back, and counters."""


class Sizes(NamedTuple):
    """Of a head."""

    width: int
    read: int  # numbers of a row of the target
    known: int  # tokens


class Calls:
    """Behind 1 to `most` new rows, and one token further.

    given: as attentive_chain.draft takes them. Whose memory is, `is_still` says for how long they are good.
    """

    def __init__(self, call: Call, sizes: Sizes, most: int, memory: Memory, table: Matrix, crew: Crew) -> None:
        self._memory, self._slot, self._arrays = memory, memory.slot, memory.arrays
        wide = sizes.width + BEHIND
        looking = np.zeros((1, FOLLOWS + 1), np.int64)
        looking[0, SLOT] = self._slot
        self._remembered: Ints = np.zeros(2, np.int64)
        self.logits = np.zeros((1 + STEPS, sizes.known), np.float32)
        features, embedded = np.zeros((most, sizes.read), np.float32), np.zeros((most, sizes.width), np.float32)
        states, zeroed, nothing = np.zeros((STEPS, 1, wide), np.float32), counters(STAGES), np.zeros((1, 0), np.float32)
        ways = [
            (features[:n], np.zeros((n, wide), np.float32), embedded[:n], (states[0], self.logits[:1]), looking)
            for n in range(1, 1 + most)
        ]
        every = np.empty((0, FOLLOWS + 1), np.int64)
        for number in range(STEPS):
            told = states[STEPS - 1 - number], self.logits[1 + number : 2 + number]
            ways.append((nothing, states[number], embedded[:1], told, every))
        self._jobs = [Kept(compute, call(*way, zeroed)) for way in ways]
        addresses = np.array([job.addresses for job in self._jobs], np.int64)
        own = looking, self._arrays[2][self._slot], self._remembered
        rows = features, embedded, (table.values, table.scales), own
        self.given = crew.board, addresses, zeroed, rows, self.logits

    @property
    def is_still(self) -> bool:
        """Whether the text's memory is where it was."""
        return self._memory.arrays is self._arrays and self._memory.slot == self._slot

    def begin(self, first: int, rows: int) -> bool:
        """Rows of the text from this one on come, so many at most; whether there is room for them."""
        if rows > MOST_AT_ONCE:
            return False
        self._remembered[HELD], self._remembered[END] = self._memory.room(first, rows), first
        return self.is_still

    def end(self, rows: int) -> None:
        """So many have come."""
        self._memory.came(rows)
