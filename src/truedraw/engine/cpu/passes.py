"""Passes, whoever runs them: parts in, rows of logits out, and the texts told what is computed."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Seq
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.batch import Batch
from truedraw.engine.openvino.fixed import FixedGraphs, shape_of
from truedraw.engine.openvino.row_counts import RowCounts
from truedraw.engine.paged.ledger import Holder
from truedraw.engine.paged.parts import LONE_ROWS, Lane, Part
from truedraw.engine.paged.runs import Computed, Gathered, Runs
from truedraw.engine.paged.tasks import Task, next_chunk, rows_ahead
from truedraw.protocol import Logits


class Passes:
    """Runs tasks whose pages are taken. apart: each row is a lane of its own, see openvino/batch.py."""

    def __init__(self, runner: Runs, apart: bool = False) -> None:
        self.runner = runner
        self._lanes = runner.num_threads if apart else 0
        self.fixed: FixedGraphs | None = None
        self._pool = runner.pool
        self._row_counts = RowCounts()
        self.padding_rows = 0  # of the last pass

    def forget_row_counts(self) -> None:
        """Pad the next pass as if none had been before it."""
        self._row_counts = RowCounts()

    @contextmanager
    def without_fixed(self) -> Iterator[None]:
        """By the graph of any shape alone, and no pass counts; nothing is compiled meanwhile."""
        fixed, self.fixed = self.fixed, None
        try:
            if fixed is not None:
                fixed.settle()
            yield
        finally:
            self.fixed = fixed

    def ahead(self, tasks: Seq[Task], chunk_rows: int, leave: int) -> None:
        """Compute text, several texts in a pass of about `chunk_rows`, until `leave` rows or fewer are left of it."""
        while rows_ahead(tasks) > leave:
            self.run(next_chunk(tasks, chunk_rows))

    def run(self, parts: list[Part]) -> tuple[list[slice], Logits, NDArray[np.float32] | None]:
        """Where each part's rows are, logits [rows, vocab], hidden [rows, layers, width] or None."""
        aside = [lane for part in parts for lane in part.lanes[1:]]
        if aside:
            with self._side_pages(aside):
                batch, (logits, hidden) = self._computed(parts)
        else:
            batch, (logits, hidden) = self._computed(parts)
        if hidden is not None and self.runner.shows_text:
            for part, rows in zip(parts, batch.text_places(), strict=True):
                part.sequence.shown.show(part.positions[0], hidden[rows])
        for part in parts:
            part.sequence.computed(part.cached, part.drafted)
        return batch.places, logits, hidden

    def _computed(self, parts: list[Part]) -> tuple[Gathered, Computed]:
        """By a graph of their shape, where there is one; its first passes are computed by the other as well."""
        for part in parts:
            part.sequence.uncertain()
        shape = None if self.fixed is None else shape_of(parts, self._lanes)
        graph = None if self.fixed is None else self.fixed.runner(shape)
        if self.fixed is None or graph is None or shape is None:
            return self._of_any_shape(parts)
        batch = Batch(parts, shape.rows, self._pool.rows, shape.seen, self._lanes)
        try:
            found = graph.run(batch)
        except (RuntimeError, MemoryError):
            self.fixed.drop(shape)
            return self._of_any_shape(parts)
        if self.fixed.is_proven(shape):
            self.padding_rows = max(0, LONE_ROWS - sum([len(part.ids) for part in parts]))  # others come with the shape
            return batch, found
        usual = self._of_any_shape(parts)  # behind the other, so that the cache holds its bits
        self.fixed.prove(shape, told(batch, found) == told(*usual))
        return usual

    def _of_any_shape(self, parts: list[Part]) -> tuple[Gathered, Computed]:
        needed = sum([len(part.ids) for part in parts])
        num_rows = self._row_counts.choose(needed) if self.runner.pads else needed
        self.padding_rows = num_rows - needed
        return self.runner.over(parts, num_rows, self._lanes)

    @contextmanager
    def _side_pages(self, lanes: list[Lane]) -> Iterator[None]:
        """Give each lane pages of its own, for as long as the pass takes."""
        given: list[Holder] = []
        try:
            for lane in lanes:
                given.append(Holder(self._pool.ledger))
                self._pool.branch(given[-1], lane.pages, lane.past, lane.end)
                lane.pages = given[-1].pages
            yield
        finally:
            for each in given:
                each.give_back()


def told(batch: Gathered, computed: Computed) -> list[bytes]:
    """All that somebody is told of a pass."""
    logits, hidden = computed
    rows = batch.places[-1].stop
    found = [logits[:rows]]
    if hidden is not None:
        found += [hidden[:rows], *(hidden[place] for place in batch.text_places())]
    return [part.tobytes() for part in found]
