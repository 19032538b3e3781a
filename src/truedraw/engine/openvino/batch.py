"""One ragged pass over several texts: the arrays that the graph is fed with."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.pages import SCRATCH
from truedraw.engine.openvino.parts import Lane, Part
from truedraw.protocol import Ints

Indices = NDArray[np.int32]


class Batch:
    """The arrays of one pass over several parts, padded to a fixed number of rows.

    Padding rows write to a scratch page and nobody reads them.
    """

    def __init__(self, parts: Seq[Part], num_rows: int, page_rows: int) -> None:
        self._parts, self._num_rows, self._page_rows = parts, num_rows, page_rows
        self._starts = np.cumsum([0, *(len(part.ids) for part in parts)]).tolist()  # first row of each part
        self._lanes = [lane for part in parts for lane in part.lanes]
        missing = num_rows - sum(len(lane.rows) for lane in self._lanes)
        if missing > 0:
            self._lanes.append(Lane(np.zeros(missing, np.int64), 0, [SCRATCH] * self._num_pages(missing)))
        self._padding = max(0, missing)

    def places(self) -> list[slice]:
        """Where each part's logits stand among the logit rows."""
        ends = np.cumsum([0, *(len(part.ids) - part.first_wanted for part in self._parts)]).tolist()
        return [slice(start, end) for start, end in pairwise(ends)]

    def feeds(self) -> dict[str, NDArray[Any]]:
        """Inputs by name, but for cos and sin, which follow from the positions of the attention rows."""
        rows = self._attention_rows()
        return {
            "input_ids": self._padded([part.ids for part in self._parts]),
            "position_ids": self._padded([part.positions for part in self._parts]),
            "attention_rows": rows,
            "back_rows": self._back_rows(rows),
            "logit_rows": self._logit_rows(),
            **self._lengths(),
            **self._blocks(),
            **self._masks(),
        }

    def _padded(self, arrays: list[Ints]) -> Ints:
        """The arrays one after the other, zeros up to the row count."""
        whole = np.zeros(self._num_rows, np.int64)
        whole[: self._starts[-1]] = np.concatenate(arrays)
        return whole

    def _attention_rows(self) -> Indices:
        """[attention rows] -> row; padding looks at row 0."""
        starts = zip(self._starts, self._parts, strict=False)
        pieces = [start + lane.rows for start, part in starts for lane in part.lanes]
        return np.concatenate([*pieces, np.zeros(self._padding, np.int64)]).astype(np.int32)

    def _back_rows(self, rows: Indices) -> Indices:
        """[rows] -> the first attention row that shows it."""
        back = np.zeros(self._num_rows, np.int32)
        used = len(rows) - self._padding
        back[rows[:used][::-1]] = np.arange(used, dtype=np.int32)[::-1]
        return back

    def _logit_rows(self) -> Indices:
        """Rows whose logits are wanted; never fewer than two, as a lone row may meet another kernel."""
        ends = self._starts[1:]
        pieces = [
            np.arange(end - len(part.ids) + part.first_wanted, end, dtype=np.int32)
            for part, end in zip(self._parts, ends, strict=True)
        ]
        rows = np.concatenate(pieces)
        return rows if len(rows) > 1 else np.resize(np.append(rows, np.int32(0)), 2)

    def _lengths(self) -> dict[str, Indices]:
        lanes = self._lanes
        return {
            "past_lens": np.array([lane.past for lane in lanes], np.int32),
            "subsequence_begins": _begins([len(lane.rows) for lane in lanes]),
            "max_context_len": np.array(max(lane.end for lane in lanes), np.int32),
        }

    def _blocks(self) -> dict[str, Indices]:
        tables = [lane.pages[: self._num_pages(lane.end)] for lane in self._lanes]
        flat = [page for table in tables for page in table]
        return {
            "block_indices": np.array(flat, np.int32),
            "block_indices_begins": _begins([len(table) for table in tables]),
        }

    def _masks(self) -> dict[str, NDArray[Any]]:
        masks = [lane.mask.ravel() for lane in self._lanes if lane.mask is not None]
        return {
            "qq_bias": np.concatenate([np.zeros(0, np.uint8), *masks]),
            "qq_bias_begins": _begins([0 if lane.mask is None else lane.mask.size for lane in self._lanes]),
        }

    def _num_pages(self, slots: int) -> int:
        return -(-slots // self._page_rows)


def _begins(counts: list[int]) -> Indices:
    """[len(counts) + 1] where each one starts."""
    return np.cumsum([0, *counts]).astype(np.int32)
