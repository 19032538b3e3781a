"""A compiled graph with its cache bound: arrays in, logits out."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.batch import Batch
from truedraw.engine.openvino.graph import HIDDEN_ROWS
from truedraw.engine.openvino.pages import PagePool
from truedraw.engine.openvino.parts import Part
from truedraw.engine.openvino.requests import Request
from truedraw.engine.openvino.rotary import RotaryTable
from truedraw.protocol import Logits, ModelConfig

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


class Runner:
    """Runs batches. The arrays it returns are the graph's own output buffers: the next run overwrites them.

    `cache` is what pools.make_pool makes for the compiled model's cache_ports. `keep` is whatever owns memory that the
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


def cache_ports(compiled: Any) -> list[Any]:
    """The inputs that hold keys and values: key_cache.0, value_cache.0, key_cache.1, ..."""
    return [port for port in compiled.inputs if "_cache." in port.get_any_name()]
