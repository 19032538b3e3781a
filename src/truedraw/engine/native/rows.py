"""What a pass is told of its rows, as `compute` takes it: numbers of all kinds in one array, made at once."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from itertools import accumulate, chain, pairwise

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.native.spans import Sharing
from truedraw.engine.paged.parts import Part, alone, text_places
from truedraw.protocol import Ints


class Rows:
    """The rows of several parts, each with one lane; none comes twice, and none is there to fill up.

    shown: 0 = nobody asks for hidden states, 1 = of logit rows, 2 = of rows of text as well that nobody was told yet.
    """

    def __init__(self, parts: Seq[Part], page_rows: int, shown: int, sharing: Sharing) -> None:
        self._parts, only = parts, parts[0]
        self._span = sharing.most if len(parts) > 1 else sharing.span(len(only.ids), alone(only.lanes[0]).end)
        self._ids: list[int] = []
        self._positions: list[int] = []
        self._wanted: list[int] = []  # rows with logits
        self._text: list[int] = []  # rows of text to be shown
        self._past: list[int] = []
        self._lane_of: list[int] = []
        self._spans: list[int] = []
        self._pages: list[int] = []
        self._masks: list[NDArray[np.uint8]] = []
        self._begins, self._page_begins, self._mask_begins = [0], [0], [0]
        self.places: list[slice] = []  # where each part's logits stand among the logit rows
        self.longest = 0
        for part in parts:
            self._add(part, page_rows, shown)
        self.hidden = len(self._wanted) + len(self._text) if shown else 0
        self.shape = len(self._ids), len(self._wanted), self.hidden

    def _add(self, part: Part, page_rows: int, shown: int) -> None:
        start, wanted, lane = len(self._ids), len(self._wanted), alone(part.lanes[0])
        self._ids += part.ids
        self._positions += part.positions
        end = len(self._ids)
        self._wanted += range(start + part.first_wanted, end)
        self._text += range(start, start + part.untold) if shown > 1 else ()
        self.places.append(slice(wanted, len(self._wanted)))
        self._spans += range(start, end, self._span)
        self._lane_of += [len(self._past)] * (end - start)
        self._past.append(lane.past)
        self._begins.append(end)
        self._pages += lane.pages[: -(-lane.end // page_rows)]
        self._page_begins.append(len(self._pages))
        if lane.mask is not None:
            self._masks.append(lane.mask.ravel())
        self._mask_begins.append(self._mask_begins[-1] + (0 if lane.mask is None else lane.mask.size))
        self.longest = max(self.longest, lane.end)

    def arrays(self) -> tuple[tuple[Ints, ...], tuple[object, ...]]:
        """(ids, positions, logit rows, hidden rows) and (past, begins, pages, page begins, masks, mask begins, each
        row's lane, where spans begin, the longest text)."""
        hidden = [*self._wanted, *self._text] if self.hidden else []
        rows = [self._ids, self._positions, self._wanted, hidden]
        lanes = [
            self._past, self._begins, self._pages, self._page_begins, self._mask_begins, self._lane_of, self._spans
        ]  # fmt: skip
        whole = np.array([*chain.from_iterable((*rows, *lanes))], np.int64)
        ends = accumulate([len(part) for part in (*rows, *lanes)], initial=0)
        found = [whole[start:end] for start, end in pairwise(ends)]
        masks = np.concatenate(self._masks) if self._masks else np.zeros(0, np.uint8)
        past, begins, pages, page_begins, mask_begins, lane_of, spans = found[len(rows) :]
        return tuple(found[: len(rows)]), (
            past, begins, pages, page_begins, masks, mask_begins, lane_of, spans, self.longest
        )  # fmt: skip

    def text_places(self) -> list[slice]:
        """Where each part's rows of text stand among the hidden rows."""
        return text_places(self._parts, len(self._wanted))
