"""What runs the passes of a paged engine, whoever computes them: a compiled graph, or kernels of this package."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.paged.pages import PagePool
from truedraw.engine.paged.parts import Part
from truedraw.protocol import Logits

Computed = tuple[Logits, NDArray[np.float32] | None]
"""Logits [logit rows, vocab] and hidden [hidden rows, layers, width] or None, until the next pass."""


class Gathered(Protocol):
    """The rows of a pass."""

    places: list[slice]  # where each part's logits stand among the logit rows

    def text_places(self) -> list[slice]:
        """Where each part's rows of text stand among the hidden rows."""
        ...


class Runs(Protocol):
    """What runs passes."""

    pool: PagePool
    shows_text: bool  # whether `hidden` has rows of text behind the logit rows
    num_threads: int
    pads: bool  # whether its passes are to be filled up to row counts that come again

    def over(self, parts: list[Part], num_rows: int, lanes: int) -> tuple[Gathered, Computed]:
        """One pass; row count and lanes as Batch has them."""
        ...
