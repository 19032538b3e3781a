"""What passes have shown of a text before its first scores: hidden states of rows whose logits nobody wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import TextRows


class Shown:
    """Of one text. `told`: whether it was handed over; passes need show no more then."""

    __slots__ = ("_rows", "told")

    def __init__(self, rows: Sequence[TextRows] = (), *, told: bool = False) -> None:
        self._rows, self.told = list(rows), told

    def forked(self) -> Shown:
        """Of an equal text; both have the same objects."""
        return Shown(self._rows, told=self.told)

    def show(self, first: int, hidden: NDArray[np.float32]) -> None:
        """A pass has found hidden states [rows, layers, width] of the text from `first` on; a copy is kept.

        What was found before an eviction, and is computed again, is not kept twice.
        """
        end = self._rows[-1].first + len(self._rows[-1].hidden) if self._rows else 0
        new = max(first, end)
        if new < first + len(hidden):
            self._rows.append(TextRows(new, hidden[new - first :].copy()))

    def tell(self) -> tuple[TextRows, ...]:
        """All of it, once; of pages that were found in a cache there is nothing."""
        rows, self._rows, self.told = tuple(self._rows), [], True
        return rows
