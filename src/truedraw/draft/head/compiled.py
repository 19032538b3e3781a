"""A head's network as two OpenVINO graphs: a small one that makes a state of the target's hidden states, and the step.

There is one step for the first token and for all others, so that its weights, which a pass of the target has pushed
out of the processor's cache, are fetched once a round: the second call takes a third of the first one's time.

The rows of the embedding, looked up and as the output matrix, are the target's own constants. Arithmetic is that of the
target's engine; whatever it gives, drafts are drawn from just that, so nothing has to be the same twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.cell import States
from truedraw.draft.head.file import HeadFile
from truedraw.engine.openvino.nodes import (
    Node,
    constant,
    dequantised,
    linear,
    looked_up,
    named,
    parameter,
    rms_norm,
    split,
    stored,
)
from truedraw.engine.openvino.numerics import numerics
from truedraw.engine.openvino.weights import Matrix
from truedraw.protocol import Ints, Logits

EPSILON = 1e-5  # of mean squares


class CompiledCell:
    """draft.head.cell.Cell of a file, for a target with this embedding [vocab, width]; raises BadFile.

    threads: None is every core.
    """

    def __init__(self, file: HeadFile, embedding: Matrix, threads: int | None = None) -> None:
        self.tokens = file.tokens
        graphs = _Graphs(file, embedding)
        self._keep = graphs  # the graphs share its memory
        self._start, self._step = (_compiled(model, threads) for model in (graphs.start(), graphs.step()))

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """See Cell."""
        (states,) = _run(self._start, {"features": features.reshape(len(features), -1)}, "states")
        return self.step(states, last)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        after, logits = _run(self._step, {"states": states, "tokens": tokens}, "after", "logits")
        return after, logits


class _Graphs:
    """Both graphs, over the same constants."""

    def __init__(self, file: HeadFile, embedding: Matrix) -> None:
        self._file, self._width = file, file.card.width
        self._embedding, self._output = embedding, _rows(embedding, file.tokens)
        self._held: list[Matrix] = []

    def start(self) -> Any:
        """features [n, streams * width] -> states [n, width]."""
        import openvino as ov

        width, read = self._width, self._width * self._file.card.streams
        features = parameter("features", [-1, read], np.float32)
        states = named(self._times(features, "input", (width, read)), "states")
        return ov.Model([states], [features], "start")

    def step(self) -> Any:
        """states [n, width] and tokens [n] -> the states after these and logits [n, known]."""
        import openvino as ov
        from openvino import opset13 as op

        states = parameter("states", [-1, self._width], np.float32)
        tokens = parameter("tokens", [-1], np.int64)
        table = stored(self._embedding)
        after = self._moved(states, self._normed(looked_up(self._embedding, table, tokens)))
        read = op.multiply(self._normed(after), constant(self._file.vector("gain", self._width)[None], np.float32))
        read = self._times(read, "output", (self._width, self._width))
        logits = linear(read, dequantised(self._output, stored(self._output)))
        return ov.Model([named(op.add(after, constant(0.0, np.float32)), "after"), named(logits, "logits")],
                        [states, tokens], "step")  # fmt: skip

    def _moved(self, x: Node, e: Node) -> Node:
        """x_i from x_{i-1} and n(e(t_i))."""
        from openvino import opset13 as op

        width, inner = self._width, self._file.rows("up") // 2
        both = self._times(op.concat([self._normed(x), e], 1), "up", (2 * inner, 2 * width))
        gate, up = split(both, [inner, inner])
        fed = self._times(op.multiply(op.swish(gate), up), "down", (width, inner))
        return op.add(op.add(x, self._times(e, "token", (width, width))), fed)

    def _normed(self, x: Node) -> Node:
        return rms_norm(x, np.ones((1, self._width), np.float32), EPSILON)

    def _times(self, x: Node, name: str, shape: tuple[int, int]) -> Node:
        matrix = self._file.matrix(name, shape)
        self._held.append(matrix)
        return linear(x, dequantised(matrix, stored(matrix)))


def _rows(matrix: Matrix, tokens: Ints) -> Matrix:
    """The rows of some tokens, a copy."""
    return Matrix(matrix.values[tokens], None if matrix.scales is None else matrix.scales[tokens], matrix.zero)


def _compiled(model: Any, threads: int | None) -> Any:
    import openvino as ov

    return ov.Core().compile_model(model, "CPU", numerics("invariant").properties(threads)).create_infer_request()


def _run(request: Any, given: dict[str, Any], *wanted: str) -> list[NDArray[np.float32]]:
    request.infer(given, share_inputs=True, share_outputs=True)
    return [np.asarray(request.get_tensor(name).data) for name in wanted]
