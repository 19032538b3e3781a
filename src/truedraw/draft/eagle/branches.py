"""One text's drafted rows of one round: their keys and values, and who is whose ancestor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.eagle.attention import Memory, attend
from truedraw.draft.eagle.state import EagleState
from truedraw.draft.growing import Draws
from truedraw.draft.growth import Growth, Place
from truedraw.protocol import Logits, Randomness, SparseLaw


class Branches:
    """Grows level by level. `states` of the network and `logits` are of the rows of the last level."""

    def __init__(self, state: EagleState, growth: Growth, chance: Randomness, method: str) -> None:
        self.text, self._growth = state, growth
        self._draws = Draws(method, chance, len(state.tokens))
        kv_heads, _, head_dim = state.memory.keys.shape
        self._own = Memory(kv_heads, head_dim, room=1)
        self._paths: list[list[int]] = [[]]  # of each row of the last level, its ancestors and itself; [] = the text's
        self._above: list[list[int]] = []
        self.states: NDArray[np.float32] = np.empty((0, 0), np.float32)  # [rows, width]
        self.logits: Logits = np.empty((0, 0), np.float32)  # [rows, known]

    @property
    def rows(self) -> int:
        """Of the last level."""
        return len(self._paths)

    def wanted(self) -> list[Place]:
        """Where the next level is drawn: the rows to be computed, once the text's own is."""
        return self._growth.wanted()

    def draw(self, laws: Sequence[SparseLaw | None]) -> None:
        """Draw behind the rows of this level, from the laws of the places wanted."""
        self._growth.grow(laws, self._draws)

    def descend(self) -> tuple[NDArray[np.float32], list[int], int]:
        """(h of the rows [n, width], their tokens, their place in the text) of the next level."""
        places = self.wanted()
        above = [place.row for place in places]
        position = len(self.text.tokens) - 1 + len(self._paths[0])
        self._above = [self._paths[row] for row in above]
        return self.states[above], [place.token for place in places], position

    def mix(self, queries: Logits, keys: Logits, values: Logits) -> NDArray[np.float32]:
        """What attention gives the rows of the next level [rows, heads * head_dim]."""
        first = self._own.count
        self._own.append(keys, values)
        self._paths = [[*path, first + number] for number, path in enumerate(self._above)]
        return attend(queries, self.text.memory, self._own, np.array(self._paths, np.int64))

    def mix_text(self, queries: Logits) -> NDArray[np.float32]:
        """The same for the text's last row, whose keys and values are in the memory."""
        return attend(queries, self.text.memory, self._own, np.empty((1, 0), np.int64))
