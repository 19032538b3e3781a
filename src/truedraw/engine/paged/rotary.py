"""Cosines and sines for rotary positions, computed once a position in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.models.rope import inverse_frequencies
from truedraw.protocol import Ints, Logits, ModelConfig

GROWTH = 256  # positions added to the table at a time: texts grow by one token a pass


class RotaryTable:
    """cos and sin of every position met so far; grows with the longest text, not with the context length."""

    def __init__(self, config: ModelConfig) -> None:
        self._frequencies = inverse_frequencies(config)  # [head_dim / 2]
        self._table = np.empty((0, 2, config.head_dim), np.float32)  # [positions, cos and sin, head_dim]

    def rows(self, positions: Ints) -> tuple[Logits, Logits]:
        """(cos, sin) of the positions, each [rows, 1, 1, head_dim], the two halves of a head alike."""
        both = self.upto(int(positions.max(initial=0)) + 1)[positions]
        return both[:, 0, None, None, :].copy(), both[:, 1, None, None, :].copy()

    def upto(self, length: int) -> NDArray[np.float32]:
        """Of so many positions, or more [positions, 2, head_dim]."""
        if length > len(self._table):
            self._grow(length + GROWTH)
        return self._table

    def _grow(self, length: int) -> None:
        angles = np.outer(np.arange(len(self._table), length), self._frequencies)
        angles = np.concatenate([angles, angles], axis=1)
        fresh = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        self._table = np.concatenate([self._table, fresh])
