"""A tree of certain drafts put together from paths, within a budget; what paths begin with in common stands once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.protocol import NOTHING, ROOT, Proposal


class Board:
    """Takes `room` nodes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._nodes: dict[tuple[int, int], int] = {}  # (parent, token) -> node
        self._confidence: list[float] = []

    def add(self, path: Sequence[int], confidence: Sequence[float]) -> bool:
        """A path behind the text, and how likely each token is after the one before; False where there is no room."""
        here, known = ROOT, 0
        while known < len(path) and (here, path[known]) in self._nodes:
            here = self._nodes[here, path[known]]
            known += 1
        if len(path) - known > self.room:
            return False
        for token, sure in zip(path[known:], confidence[known:], strict=True):
            here = self._nodes.setdefault((here, token), len(self._nodes))
            self._confidence.append(sure)
        self.room -= len(path) - known
        return True

    def proposal(self) -> Proposal:
        """What was added."""
        if not self._nodes:
            return NOTHING
        parents, tokens = np.array(list(self._nodes), np.int64).T.copy()
        return Proposal(tokens, parents, (None,) * len(tokens), np.array(self._confidence))
