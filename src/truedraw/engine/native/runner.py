"""From the rows of a pass to their logits, by kernels of this package."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.native.abreast import rows_abreast
from truedraw.engine.native.blocks import Blocks
from truedraw.engine.native.chain import MEMORY, Chain, pass_job
from truedraw.engine.native.chunks import Findings
from truedraw.engine.native.decoder import STAGES_A_LAYER, STAGES_BESIDE, compute
from truedraw.engine.native.layers import blocks_in, given
from truedraw.engine.native.memory import Memory
from truedraw.engine.native.rows import Rows
from truedraw.engine.native.spans import Sharing
from truedraw.engine.native.together import ways
from truedraw.engine.native.weights import Laid
from truedraw.engine.paged.pages import PagePool
from truedraw.engine.paged.parts import Part
from truedraw.engine.paged.rotary import RotaryTable
from truedraw.engine.paged.runs import Computed
from truedraw.protocol import Ints, ModelConfig, PassJob
from truedraw.threads.crew import Crew
from truedraw.threads.stages import counters


class NativeRunner:
    """As engine.openvino.runner.Runner: the next pass overwrites what it returns.

    cache: [pages, 2 layers kv heads, slots times head_dim], bits of bfloat16, of each layer its keys and then its
    values; of a page and a head both as heads.py has them.
    """

    pads = False  # a pass has just the rows that it needs

    def __init__(
        self, config: ModelConfig, weights: Laid, pool: PagePool, cache: NDArray[np.uint16], crew: Crew,
        hidden_layers: tuple[int, ...] = (), shows_text: bool = False,
    ) -> None:  # fmt: skip
        self.pool, self.num_threads, self.shows_text = pool, crew.num_threads, shows_text
        self._config, self._weights, self._cache, self.crew = config, weights, cache, crew
        self._shown = np.array(sorted(hidden_layers), np.int64)
        order = [*(sorted(hidden_layers).index(layer) for layer in hidden_layers), len(hidden_layers)]
        self._order = None if order == sorted(order) else order  # None: as they are computed
        self._rotary = RotaryTable(config)
        own = *map(blocks_in, weights.kinds), weights.head
        self._memory = Memory(config, own, len(self._shown) + 1)
        sizes = config.num_heads, config.num_kv_heads, config.head_dim
        self._sharing = Sharing(config.num_kv_heads, config.num_heads // config.num_kv_heads, crew.num_threads)
        lines = self._sharing.most * self._sharing.queries
        self._findings = Findings(config.num_kv_heads, lines, config.head_dim, crew.num_threads)
        parts = tuple(map(given, (*weights.kinds, weights.head)))
        self._model = weights.table, parts, weights.vectors, sizes, self._shown, np.float32(config.rms_norm_eps)

    @property
    def written(self) -> Blocks:
        """What makes logits [vocab, width]."""
        head = self._weights.head
        return Blocks(head.codes[0], head.scales[0])

    @property
    def weights_bytes(self) -> int:
        """Of all matrices."""
        return self._weights.num_bytes

    def first(self, config: ModelConfig) -> NativeRunner:
        """The first layers, over the same cache."""
        kinds = 2 * config.num_layers
        weights = self._weights.first(config.num_layers)
        return NativeRunner(config, weights, self.pool.first(kinds), self._cache, self.crew)

    def over(self, parts: list[Part], num_rows: int, lanes: int) -> tuple[Rows, Computed]:
        """See Runs; the row count and the lanes are its own."""
        rows = Rows(parts, self.pool.rows, len(self._shown) and 1 + self.shows_text, self._sharing)
        return rows, self._run(rows)

    def alone(self, pages: Seq[int], longest: int) -> Chain:
        """The rows of a text that has these pages, up to so many tokens, for `along`."""
        return Chain(pages, longest, len(self._shown) > 0, self._sharing)

    def along(self, chain: Chain, past: int, ids: Seq[int]) -> Computed:
        """A pass over rows that follow so many of the text."""
        return self._computed(*chain.at(past, ids), chain.longest, chain.shape(len(ids)))

    def job(self, chain: Chain, n: int) -> PassJob | None:
        """See RunsAlong; None where hidden states are wanted in another order than they come in."""
        if self._order is not None:
            return None
        shape = chain.shape(n)
        make = partial(self._given, *chain.rows(n), chain.longest, shape)
        return chain.job(n, self._memory.of(*shape), compute, make)

    def abreast(self, pages: Seq[Seq[int]], counts: Seq[int], longest: int) -> PassJob | None:
        """See RunsAbreast; None as for `job`."""
        if self._order is not None:
            return None
        shown, n = len(self._shown) > 0, sum(counts)
        told = rows_abreast(pages, counts, longest, shown, self._sharing)
        return pass_job(compute, self._given(*told, longest, (n, n, n if shown else 0)), told, shown)

    def _run(self, rows: Rows) -> Computed:
        return self._computed(*rows.arrays(), rows.longest, rows.shape)

    def _given(
        self, numbers: tuple[Ints, ...], lanes: tuple[Any, ...], longest: int, shape: tuple[int, int, int]
    ) -> tuple[Any, ...]:
        table, memory = self._rotary.upto(longest), self._memory.of(*shape)
        pieces, findings = self._findings.of(len(lanes[7]), longest)
        fresh = counters(self._config.num_layers * (STAGES_A_LAYER + pieces) + STAGES_BESIDE)
        return self._model, (*numbers, table), lanes, self._cache, memory, fresh, ways(self.num_threads), findings

    def _computed(
        self, numbers: tuple[Ints, ...], lanes: tuple[Any, ...], longest: int, shape: tuple[int, int, int]
    ) -> Computed:
        given = self._given(numbers, lanes, longest, shape)
        self.crew.run(compute, given)
        logits, hidden = given[MEMORY][3], given[MEMORY][4]
        if not len(self._shown):
            return logits, None
        return logits, hidden if self._order is None else hidden[:, self._order]
