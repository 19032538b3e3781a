"""The numbers of a draft's graphs: read from its folder, and held for as long as compiled graphs share their memory."""

from __future__ import annotations

import numpy as np

from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import quantise
from truedraw.protocol import Logits


class Constants:
    """`read` names the tensors that were read. rounded: matrices become int8."""

    def __init__(self, folder: EagleFolder, *, rounded: bool) -> None:
        self._folder, self._rounded = folder, rounded
        self._held: list[Matrix] = []
        self.read: set[str] = set()

    def own(self, name: str) -> Matrix | None:
        """Rows for each of the target's tokens, where the folder has its own."""
        if not self._folder.has(name):
            return None
        return self.kept(self.numbers(name, (self._folder.config.vocab_size, self._folder.config.hidden_size)))

    def kept(self, values: Logits) -> Matrix:
        """A matrix [out, in] as the graphs read it."""
        held = quantise(values) if self._rounded else Matrix(np.ascontiguousarray(values))
        self._held.append(held)
        return held

    def numbers(self, name: str, shape: tuple[int, int]) -> Logits:
        """A tensor of this shape."""
        self.read.add(name)
        return self._folder.matrix(name, shape)

    def vector(self, name: str, size: int) -> Logits:
        """A gain or a bias."""
        self.read.add(name)
        return self._folder.vector(name, size)

    def bias(self, name: str, size: int) -> Logits:
        """Nothing where the folder has none."""
        return self.vector(name, size) if self._folder.has(name) else np.zeros(size, np.float32)
