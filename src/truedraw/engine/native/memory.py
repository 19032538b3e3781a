"""What a pass works in, kept for the next one: fresh memory costs a look of the system at each of its pages."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import Any

import numpy as np

from truedraw.engine.native.blocks import FACTORS, Blocks
from truedraw.engine.native.grid_code import ROWS as GRID_ROWS
from truedraw.protocol import ModelConfig

KEPT_ROWS = 64  # a pass of more gets memory of its own


class Memory:
    """For passes of a model with these matrices, of which so many streams are shown."""

    def __init__(self, config: ModelConfig, matrices: Seq[Blocks], streams: int) -> None:
        self._config, self._matrices, self._streams = config, matrices, streams
        self._rows, self._held = 0, self._made(0, 0, 0)
        self._cuts: dict[tuple[int, int, int], tuple[Any, ...]] = {}

    def of(self, n: int, wanted: int, told: int) -> tuple[Any, ...]:
        """Of so many rows, logit rows and hidden rows, as runner.py has it; the very same until there is more."""
        if (known := self._cuts.get((n, wanted, told))) is not None:
            return known
        most = max(n, wanted, told)
        if most > KEPT_ROWS:
            return self._made(n, wanted, told)
        if most > self._rows:
            self._rows = min(KEPT_ROWS, max(most, 2 * self._rows))
            self._held = self._made(self._rows, self._rows, self._rows if self._streams > 1 else 0)
            self._cuts.clear()
        found = self._cut(n, wanted, told)
        if n == wanted:  # texts that are being written: prompts come in too many shapes
            self._cuts[n, wanted, told] = found
        return found

    def _cut(self, n: int, wanted: int, told: int) -> tuple[Any, ...]:
        """Of what is held."""
        counts = [n, n, n, wanted, told]
        whole = [each[:count] for each, count in zip(self._held, counts, strict=False)]
        rounded = zip(self._held[len(counts) :], (n, n, n, n, wanted), strict=True)
        return *whole, *((a[:count], b[:count]) for (a, b), count in rounded)

    def _made(self, n: int, wanted: int, told: int) -> tuple[Any, ...]:
        config = self._config
        heads = config.num_heads * config.head_dim
        wide = heads + 2 * config.num_kv_heads * config.head_dim
        width, vocab = config.hidden_size, config.vocab_size
        shapes = [(n, width), (n, wide), (n, heads), (wanted, vocab), (told, self._streams, width)]
        rounded = [room(rows, matrix) for rows, matrix in zip((n, n, n, n, wanted), self._matrices, strict=True)]
        return *(np.empty(shape, np.float32) for shape in shapes), *rounded


def room(rows: int, matrix: Blocks) -> tuple[Any, ...]:
    """For rows that a matrix is multiplied with, rounded: see products.round_row. Zeros behind the last input stay."""
    blocks = matrix.codes.shape[-4]
    numbers = np.zeros((rows + GRID_ROWS - 1, blocks * matrix.size), np.int8)  # the last grid may not be full
    return numbers[:rows], np.empty((rows, blocks, FACTORS), np.float32)
