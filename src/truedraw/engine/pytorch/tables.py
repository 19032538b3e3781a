"""A model's rows of tokens as arrays of numpy, for what drafts on the processor."""

from __future__ import annotations

from typing import Any

from truedraw.engine.constants.matrix import Matrix


def rows_of(layer: Any) -> Matrix:
    """The weights [vocab, width] of an embedding or of a head: on the processor, where they are float32, no copy."""
    return Matrix(layer.weight.detach().float().cpu().numpy())
