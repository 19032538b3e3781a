"""A model's rows of tokens as arrays of numpy, for what drafts on the processor."""

from __future__ import annotations

from typing import Any

from truedraw.engine.constants.matrix import Matrix


class Tables:
    """Each is made once, so that two layers with one weight have one table."""

    def __init__(self) -> None:
        self._made: dict[int, Matrix] = {}

    def of(self, layer: Any) -> Matrix:
        """The weights [vocab, width] of an embedding or of a head; no copy of float32 on the processor."""
        weight = layer.weight
        if id(weight) not in self._made:
            self._made[id(weight)] = Matrix(weight.detach().float().cpu().numpy())
        return self._made[id(weight)]
