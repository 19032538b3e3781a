"""From a batch's arrays to rows of logits, by kernels of this package."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.native.crew import Crew
from truedraw.engine.native.weights import Laid
from truedraw.engine.openvino.batch import Batch
from truedraw.engine.openvino.pages import PagePool
from truedraw.engine.openvino.rotary import RotaryTable
from truedraw.protocol import Ints, Logits, ModelConfig

PIECES = 6  # that a matrix is shared out in, for each thread: one that is held up keeps the others waiting for so much
Reals = NDArray[np.float32]


class NativeRunner:
    """As engine.openvino.runner.Runner.

    cache: [2 layers, pages, kv heads, slots times head_dim], bits of float16, keys and values in turn. Of a page and a
    head of keys the slots stand side by side, of values the places of the head.
    """

    pads = False  # a pass has just the rows that it needs

    def __init__(
        self, config: ModelConfig, weights: Laid, pool: PagePool, cache: NDArray[np.uint16], crew: Crew,
        hidden_layers: tuple[int, ...] = (), shows_text: bool = False,
    ) -> None:  # fmt: skip
        self.pool, self.num_threads, self.shows_text = pool, crew.num_threads, shows_text
        self._config, self._weights, self._cache, self._crew = config, weights, cache, crew
        self._shown = np.array(sorted(hidden_layers), np.int64)
        self._order = [*(sorted(hidden_layers).index(layer) for layer in hidden_layers), len(hidden_layers)]
        self._rotary = RotaryTable(config)
        sizes = config.num_heads, config.num_kv_heads, config.head_dim
        parts = tuple(tuple(matrix) for matrix in weights.matrices)
        self._model = weights.table, parts, weights.vectors, sizes, self._shown, np.float32(config.rms_norm_eps)

    def first(self, config: ModelConfig) -> NativeRunner:
        """The first layers, over the same cache."""
        kinds = 2 * config.num_layers
        weights = self._weights.first(config.num_layers)
        return NativeRunner(config, weights, self.pool.first(kinds), self._cache[:kinds], self._crew)

    def run(self, batch: Batch) -> tuple[Logits, Reals | None]:
        """(logits [logit rows, vocab], hidden [hidden rows, layers, width] or None)."""
        from truedraw.engine.native.decoder import STAGES_A_LAYER, STAGES_BESIDE, compute
        from truedraw.engine.native.stages import APART

        feeds = batch.feeds()
        hidden_rows = self._hidden_rows(batch, feeds)
        rows = self._rows(feeds, hidden_rows)
        memory = self._memory(len(feeds["input_ids"]), len(feeds["logit_rows"]), len(hidden_rows))
        stages = self._config.num_layers * STAGES_A_LAYER + STAGES_BESIDE
        counters, pieces = np.zeros(stages * 2 * APART, np.int64), PIECES * self.num_threads
        self._crew.run(compute, self._model, rows, _lanes(feeds), self._cache, memory, counters, pieces)
        logits, hidden = memory[4], memory[5]
        return logits, hidden[:, self._order] if len(self._shown) else None

    def _hidden_rows(self, batch: Batch, feeds: dict[str, NDArray[Any]]) -> Ints:
        if not len(self._shown):
            return np.zeros(0, np.int64)
        wanted = batch.hidden_rows() if self.shows_text else feeds["logit_rows"]
        return wanted.astype(np.int64)

    def _rows(self, feeds: dict[str, NDArray[Any]], hidden_rows: Ints) -> tuple[NDArray[Any], ...]:
        """ids, cos, sin, logit rows, hidden rows."""
        cos, sin = (each[:, 0, 0] for each in self._rotary.rows(feeds["position_ids"]))
        return feeds["input_ids"], cos, sin, feeds["logit_rows"].astype(np.int64), hidden_rows

    def _memory(self, n: int, wanted: int, told: int) -> tuple[Any, ...]:
        """What a pass of so many rows, logit rows and hidden rows works in."""
        config, matrices = self._config, self._weights.matrices
        heads = config.num_heads * config.head_dim
        wide, inside = heads + 2 * config.num_kv_heads * config.head_dim, 2 * config.intermediate_size
        width, vocab, streams = config.hidden_size, config.vocab_size, len(self._shown) + 1
        shapes = [(n, width), (n, wide), (n, heads), (n, inside), (wanted, vocab), (told, streams, width)]
        rounded = [_room(rows, matrix) for rows, matrix in zip((n, n, n, n, wanted), matrices, strict=True)]
        return *(np.empty(shape, np.float32) for shape in shapes), *rounded


def _room(rows: int, matrix: Any) -> tuple[NDArray[Any], ...]:
    """See products.room."""
    blocks, quads, quad = matrix.codes.shape[2], matrix.codes.shape[3], matrix.codes.shape[5]
    numbers = np.zeros((rows, blocks * quads * quad), np.int8)
    return numbers, np.empty((rows, blocks), np.float32), np.empty((rows, blocks), np.int32)


def _lanes(feeds: dict[str, NDArray[Any]]) -> tuple[Any, ...]:
    """past, begins, pages, page begins, masks, mask begins, each row's lane, where spans begin, the longest text."""
    from truedraw.engine.native.looking import SPAN

    begins = feeds["subsequence_begins"].astype(np.int64)
    names = "block_indices", "block_indices_begins"
    pages, page_begins = (feeds[name].astype(np.int64) for name in names)
    lane_of = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    places = np.arange(len(lane_of)) - begins[lane_of]
    masks, mask_begins = feeds["qq_bias"], feeds["qq_bias_begins"].astype(np.int64)
    past, longest = feeds["past_lens"].astype(np.int64), int(feeds["max_context_len"])
    return past, begins, pages, page_begins, masks, mask_begins, lane_of, np.flatnonzero(places % SPAN == 0), longest


def threads_of(threads: int | None) -> int:
    """As many as processors that this process may use, unless it is said."""
    if threads is not None:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
