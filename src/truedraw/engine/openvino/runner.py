"""A compiled graph with its cache bound: arrays in, logits out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.batch import Batch
from truedraw.engine.openvino.graph import HIDDEN_ROWS
from truedraw.engine.openvino.requests import Request
from truedraw.engine.paged.pages import PagePool
from truedraw.engine.paged.parts import Part
from truedraw.engine.paged.rotary import RotaryTable
from truedraw.engine.paged.runs import Computed
from truedraw.protocol import Logits, ModelConfig


class Runner:
    """Runs batches. The arrays it returns are the graph's own output buffers: the next run overwrites them.

    `cache` is what cache.make_pool makes for the compiled model. `keep` is whatever owns memory that the
    compiled model shares.
    """

    pads = True

    def __init__(
        self, compiled: Any, config: ModelConfig, cache: tuple[PagePool, dict[str, Any]], keep: object = None
    ) -> None:
        self._keep, self._config = keep, config
        self.pool, self._tensors = cache
        self._inputs = {port.get_any_name() for port in compiled.inputs} - set(self._tensors)
        self._rotary = RotaryTable(config) if "cos" in self._inputs else None
        self._has_hidden = len(compiled.outputs) > 1
        self.shows_text = HIDDEN_ROWS in self._inputs  # whether `hidden` has rows of text behind the logit rows
        self.num_threads = int(compiled.get_property("INFERENCE_NUM_THREADS"))
        self._request = Request(compiled)
        for name, tensor in self._tensors.items():
            self._request.bind(name, tensor)

    def first_layers(self, layers: int) -> tuple[PagePool, dict[str, Any]]:
        """The cache of the first layers, to be bound to a graph that has no others."""
        kinds = 2  # keys and values
        return self.pool.first(kinds * layers), dict(list(self._tensors.items())[: kinds * layers])

    def beside(self, compiled: Any) -> Runner:
        """Another graph of the same model, over the same cache."""
        return Runner(compiled, self._config, (self.pool, self._tensors), self._keep)

    def over(self, parts: list[Part], num_rows: int, lanes: int) -> tuple[Batch, Computed]:
        """See Runs."""
        batch = Batch(parts, num_rows, self.pool.rows, lanes=lanes)
        return batch, self.run(batch)

    def run(self, batch: Batch) -> tuple[Logits, NDArray[np.float32] | None]:
        """(logits [logit rows, vocab], hidden [hidden rows, layers, width] or None)."""
        feeds = batch.feeds()
        if self._rotary is not None:
            attention_positions = feeds["position_ids"][feeds["attention_rows"]]
            feeds["cos"], feeds["sin"] = self._rotary.rows(attention_positions)
        if self.shows_text:
            feeds[HIDDEN_ROWS] = batch.hidden_rows()
        self._request.run({name: array for name, array in feeds.items() if name in self._inputs})
        logits = self._request.output("logits")
        hidden = self._request.output("hidden") if self._has_hidden else None
        return logits.reshape(-1, logits.shape[-1]), hidden
