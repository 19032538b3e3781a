"""What runs the passes of a paged engine, whoever computes them: a compiled graph, or kernels of this package."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.paged.pages import PagePool
from truedraw.engine.paged.parts import Part
from truedraw.protocol import Logits, PassJob

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


@runtime_checkable
class RunsAlong(Protocol):
    """What runs passes over a text that is alone, by rows that are kept from one to the next. Optional."""

    def alone(self, pages: Seq[int], longest: int) -> Any:
        """The rows of a text that has these pages, up to so many tokens, for `along`."""
        ...

    def along(self, chain: Any, past: int, ids: Seq[int]) -> Computed:
        """A pass over tokens that follow so many of the text, all of them with logits."""
        ...

    def job(self, chain: Any, n: int) -> PassJob | None:
        """Of such passes over n tokens; None where compiled code cannot run them."""
        ...


@runtime_checkable
class RunsAbreast(Protocol):
    """What has passes over the last tokens of several texts, and drafts behind them, for compiled code. Optional."""

    def abreast(self, pages: Seq[Seq[int]], counts: Seq[int], longest: int) -> PassJob | None:
        """Over so many rows of each text, which has these pages, up to so many tokens; None where compiled code cannot
        run them."""
        ...
