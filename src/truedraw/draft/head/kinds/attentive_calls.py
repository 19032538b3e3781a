"""The calls of an attentive head for some texts, kept for compiled code: attentive_chain.py makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from truedraw.draft.head.kinds.attentive_chain import END, HELD, STEPS
from truedraw.draft.head.kinds.attentive_memory import MOST_AT_ONCE, Memory
from truedraw.draft.head.kinds.attentive_step import BEHIND, FOLLOWS, SLOT, STAGES, compute
from truedraw.engine.constants.matrix import Matrix
from truedraw.protocol import Ints, Logits
from truedraw.threads.kept import Kept
from truedraw.threads.stages import counters

Call = Callable[..., tuple[Any, ...]]
"""What `compute` is given: of features, states, embedded tokens, what is told, who looks back, and counters."""


class Sizes(NamedTuple):
    """Of a head."""

    width: int
    read: int  # numbers of a row of the target
    known: int  # tokens


class OwnRows:
    """Those of one text that a head remembers, while compiled code brings them: `remembered` is where it finds how
    many, see attentive_chain.remember."""

    def __init__(self, memory: Memory) -> None:
        self._memory, self._slot, self._arrays = memory, memory.slot, memory.arrays
        self.places = self._arrays[2][self._slot]
        self.remembered: Ints = np.zeros(2, np.int64)

    @property
    def is_still(self) -> bool:
        """Whether the text's memory is where it was."""
        return self._memory.arrays is self._arrays and self._memory.slot == self._slot

    def begin(self, first: int, rows: int) -> bool:
        """Rows of the text from this one on come, so many at most; whether there is room for them."""
        if rows > MOST_AT_ONCE:
            return False
        self.remembered[HELD], self.remembered[END] = self._memory.room(first, rows), first
        return self.is_still

    def end(self, rows: int) -> None:
        """So many have come."""
        self._memory.came(rows)


class Calls:
    """Behind 1 to `most` new rows of each text, and one token further of all of them.

    given: as attentive_chain.draft takes them; heard and drawn: of each text, as `hear` and `draw` there. Whose memory
    is, `texts` say for how long they are good.
    """

    def __init__(
        self, call: Call, sizes: Sizes, most: int, memories: Sequence[Memory], table: Matrix, board: Ints
    ) -> None:
        slots, count = [memory.slot for memory in memories], len(memories)  # whoever takes one may move the others
        self.texts, self.board = [OwnRows(memory) for memory in memories], board
        self._looking = np.zeros((count, FOLLOWS + 1), np.int64)
        self._looking[:, SLOT] = slots
        self.logits = np.zeros((1 + STEPS, count, sizes.known), np.float32)
        rows, wide = count * most, sizes.width + BEHIND
        features, embedded = (np.zeros((rows, size), np.float32) for size in (sizes.read, sizes.width))
        states, zeroed = np.zeros((STEPS, count, wide), np.float32), counters(STAGES)
        none, every = np.zeros((count, 0), np.float32), np.empty((0, FOLLOWS + 1), np.int64)
        ways: list[tuple[Any, ...]] = [
            (features[:n], np.zeros((n, wide), np.float32), embedded[:n], (states[0], self.logits[0]), self._looking)
            for n in range(count, 1 + rows)
        ]
        for number in range(STEPS):
            told = states[STEPS - 1 - number], self.logits[1 + number]
            ways.append((none, states[number], embedded[:count], told, every))
        self._jobs = [Kept(compute, call(*way, zeroed)) for way in ways]
        self.given = np.array([job.addresses for job in self._jobs], np.int64), zeroed, np.zeros(1, np.int64)
        self._rows = features, embedded, (table.values, table.scales)

    def heard(self, number: int) -> tuple[Any, ...]:
        """Of text number so-and-so."""
        own = self.texts[number]
        return (*self._rows, self.given[-1]), (self._looking[number], own.places, own.remembered)

    def drawn(self, number: int) -> tuple[Any, ...]:
        """Likewise: where its logits are, and the token as the network reads it."""
        _, embedded, table = self._rows
        _, count, known = self.logits.shape
        return (self.logits.reshape(-1), number * known, count * known), (embedded[number], table)

    def said(self, number: int) -> Logits:
        """What the first of a round's calls said of it [known]."""
        found: Logits = self.logits[0, number]
        return found
