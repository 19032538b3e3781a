"""The recurrent head for a few rows, by kernels of ours.

A call is bound by memory: each matrix is read once, 10.8 MB for the head that ships. Behind a pass of the target this
takes half the time of the engine's graph, on one thread where that has two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.cell import States
from truedraw.draft.head.compiled import EPSILON, rows_of
from truedraw.draft.head.file import Numbers
from truedraw.draft.head.kinds.recurrent_step import step
from truedraw.engine.native.blocks import blocks_of
from truedraw.engine.native.products import looked_up
from truedraw.engine.openvino.matrix import Matrix, dense
from truedraw.protocol import Ints, Logits


class FewRows:
    """One step of a file's network; raises BadFile."""

    def __init__(self, file: Numbers, embedding: Matrix) -> None:
        width, rows = file.card.width, file.rows("up")
        shapes = {
            "input": (width, width * file.card.streams),
            "up": (rows, 2 * width),
            "down": (width, rows // 2),
            "token": (width, width),
            "output": (width, width),
        }
        matrices = [file.matrix(name, shape) for name, shape in shapes.items()]
        known = rows_of(embedding, file.tokens)
        self._matrices = tuple(tuple(blocks_of(matrix)) for matrix in (*matrices, known))
        self._gain, self._sizes = file.vector("gain", width), (rows, len(file.tokens))
        self._embedding = embedding
        nothing = np.zeros((1, width), np.float32)
        self.step(nothing[:, :0], nothing, file.tokens[:1])  # the machine's code is there before the first draft

    def step(self, features: NDArray[np.float32], states: States, tokens: Ints) -> tuple[States, Logits]:
        """Behind states [n, width] or features [n, streams * width], of which the other has no columns or zeros."""
        embedded = self._embedded(tokens)
        after, logits = step(features, states, embedded, self._matrices, self._gain, self._sizes, EPSILON)
        return after, logits

    def _embedded(self, tokens: Ints) -> NDArray[np.float32]:
        """e(t) [n, width]."""
        table = self._embedding
        if table.scales is None or table.values.dtype != np.int8:
            return dense(rows_of(table, tokens))
        found: NDArray[np.float32] = looked_up(table.values, table.scales, tokens)
        return found
