"""One ragged pass over several texts: the arrays that the graph is fed with."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.row_counts import rounded
from truedraw.engine.paged.pages import SCRATCH
from truedraw.engine.paged.parts import Lane, Part, apart, text_places
from truedraw.protocol import Ints

Indices = NDArray[np.int32]
LEAST_WANTED = 2  # logit rows, as a lone row may meet another kernel


class Batch:
    """The arrays of one pass over several parts, padded to a fixed number of rows.

    Padding rows write to a scratch page and nobody reads them. `seen`: just so many attention rows, and logit rows as
    rows; None: as many as there are. `lanes`: 0 where the rows of a text are one to the kernel, else each row is one,
    and there are so many at least: with fewer of them than threads another kernel sums in another order.
    """

    def __init__(
        self, parts: Seq[Part], num_rows: int, page_rows: int, seen: int | None = None, lanes: int = 0
    ) -> None:
        self._num_rows, self._page_rows, self._apart = num_rows, page_rows, lanes > 0
        self._least_wanted = LEAST_WANTED if seen is None else num_rows
        self._ids: list[int] = []
        self._positions: list[int] = []
        self._attention: list[int] = []  # [attention rows] -> row
        self._wanted: list[int] = []  # rows whose logits are asked for
        self._lanes: list[Lane] = []
        self.places: list[slice] = []  # where each part's logits stand among the logit rows
        self._parts = parts
        for part in parts:
            self._add(part)
        wanted = seen or max(num_rows, rounded(max(len(self._attention), lanes)))
        self._padding = max(0, wanted - len(self._attention))
        self._lanes += self._fill(self._padding)

    def feeds(self) -> dict[str, NDArray[Any]]:
        """Inputs by name, but for cos and sin, which follow from the positions of the attention rows."""
        return {
            "input_ids": self._padded(self._ids),
            "position_ids": self._padded(self._positions),
            "attention_rows": np.array(self._attention + [0] * self._padding, np.int32),  # padding looks at row 0
            "back_rows": self._back_rows(),
            "logit_rows": self._logit_rows(),
            **self._lengths(),
            **self._blocks(),
            **self._masks(),
        }

    def hidden_rows(self) -> Indices:
        """The logit rows, then those rows of text before them whose hidden states are still to be told."""
        starts = accumulate([len(part.ids) for part in self._parts], initial=0)
        text = [range(start, start + part.untold) for start, part in zip(starts, self._parts, strict=False)]
        return np.concatenate([self._logit_rows(), *text], dtype=np.int32, casting="unsafe")

    def text_places(self) -> list[slice]:
        """Where each part's rows of text stand among the hidden rows."""
        return text_places(self._parts, len(self._logit_rows()))

    def _add(self, part: Part) -> None:
        start, wanted = len(self._ids), len(self._wanted)
        self._ids += part.ids
        self._positions += part.positions
        self._wanted += range(start + part.first_wanted, len(self._ids))
        self.places.append(slice(wanted, len(self._wanted)))
        for lane in part.lanes:
            lanes = apart(lane) if self._apart else [lane]
            self._lanes += lanes
            self._attention += [start + row for each in lanes for row in each.rows]

    def _fill(self, count: int) -> list[Lane]:
        """Lanes of so many rows that nobody reads."""
        if self._apart:
            return [Lane((0,), 0, [SCRATCH])] * count
        return [Lane(range(count), 0, [SCRATCH] * self._num_pages(count))] if count else []

    def _padded(self, values: list[int]) -> Ints:
        """Zeros up to the row count."""
        whole = np.zeros(self._num_rows, np.int64)
        whole[: len(values)] = values
        return whole

    def _back_rows(self) -> Indices:
        """[rows] -> the first attention row that shows it."""
        back = np.zeros(self._num_rows, np.int32)
        used = len(self._attention)
        back[self._attention[::-1]] = np.arange(used - 1, -1, -1, dtype=np.int32)
        return back

    def _logit_rows(self) -> Indices:
        missing = max(0, self._least_wanted - len(self._wanted))
        return np.array(self._wanted + [0] * missing, np.int32)

    def _lengths(self) -> dict[str, Indices]:
        lanes = self._lanes
        return {
            "past_lens": np.array([lane.past for lane in lanes], np.int32),
            "subsequence_begins": _begins([len(lane.rows) for lane in lanes]),
            "max_context_len": np.array(max([lane.end for lane in lanes]), np.int32),
        }

    def _blocks(self) -> dict[str, Indices]:
        flat: list[int] = []
        begins = [0]
        for lane in self._lanes:
            flat += lane.pages[: self._num_pages(lane.end)]
            begins.append(len(flat))
        return {
            "block_indices": np.array(flat, np.int32),
            "block_indices_begins": np.array(begins, np.int32),
        }

    def _masks(self) -> dict[str, NDArray[Any]]:
        masks = [lane.mask.ravel() for lane in self._lanes if lane.mask is not None]
        return {
            "qq_bias": np.concatenate(masks) if masks else np.zeros(0, np.uint8),
            "qq_bias_begins": _begins([0 if lane.mask is None else lane.mask.size for lane in self._lanes]),
        }

    def _num_pages(self, slots: int) -> int:
        return -(-slots // self._page_rows)


def _begins(counts: list[int]) -> Indices:
    """[len(counts) + 1] where each one starts."""
    return np.array(list(accumulate(counts, initial=0)), np.int32)
