"""What the OpenVINO graphs of all kinds of head are made of.

The rows of the embedding, looked up and as the output matrix, are the target's own constants. Arithmetic is that of the
target's engine; whatever it gives, drafts are drawn from just that, so nothing has to be the same twice.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.file import Numbers
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.cpu.arithmetic import numerics
from truedraw.engine.openvino.core import core
from truedraw.engine.openvino.nodes import (
    Node,
    constant,
    looked_up,
    parameter,
    rms_norm,
    split,
    stored,
    times,
)
from truedraw.engine.openvino.requests import Request
from truedraw.protocol import Ints
from truedraw.silent_openvino import openvino, operations

if TYPE_CHECKING:
    from truedraw.engine.native.blocks import Blocks
    from truedraw.threads.crew import Crew

EPSILON = 1e-5  # of mean squares
FEWEST_ROWS = 2  # of a call


class TargetRows(NamedTuple):
    """Of the target, [vocab, width] each: `embedding` is what its tokens come in as, `output` what its logits are made
    with. Kinds write with the embedding; only checkpoints of others need the output.

    crew: the threads that its kernels run on; blocks: the embedding as they read it for logits. None where they are
    not this package's, or read other rows. kept_in: the folder where what is made of a head's file is kept, if any."""

    embedding: Matrix
    output: Matrix
    crew: Crew | None = None
    blocks: Blocks | None = None
    kept_in: Path | None = None


class Parts:
    """The pieces of one head's graphs, over the same constants, which live as long as this does."""

    def __init__(self, file: Numbers, embedding: Matrix) -> None:
        self.file, self.width = file, file.card.width
        self.read = self.width * file.card.streams  # of the target's numbers a row
        self._embedding = embedding
        self._held: list[Matrix] = []

    def features(self) -> Node:
        """Input [n, streams * width]."""
        return parameter("features", [-1, self.read], np.float32)

    def fused(self, features: Node) -> Node:
        """I f [n, width]."""
        return self.times(features, "input", (self.width, self.read))

    def embedded(self, tokens: Node) -> Node:
        """n(e(t)) [n, width]."""
        return self.normed(looked_up(self._embedding, stored(self._embedding), tokens))

    def normed(self, x: Node) -> Node:
        """n(x) = x / rms(x)."""
        return rms_norm(x, np.ones((1, self.width), np.float32), EPSILON)

    def fed(self, x: Node, names: tuple[str, str]) -> Node:
        """D (silu(G x) * (U x)) [n, width], of x [n, read]; `names` are those of (G, U) stacked and of D."""
        op = operations()

        inner, read = self.file.rows(names[0]) // 2, x.output(0).get_partial_shape()[1].get_length()
        gate, up = split(self.times(x, names[0], (2 * inner, read)), [inner, inner])
        return self.times(op.multiply(op.swish(gate), up), names[1], (self.width, inner))

    def gained(self, x: Node, name: str) -> Node:
        """G * x, by the columns of a gain."""
        op = operations()

        return op.multiply(x, constant(self.file.vector(name, self.width)[None], np.float32))

    def times(self, x: Node, name: str, shape: tuple[int, int]) -> Node:
        """A matrix of the file."""
        return self.product(x, self.file.matrix(name, shape))

    def product(self, x: Node, matrix: Matrix) -> Node:
        """Any matrix."""
        self._held.append(matrix)
        return times(x, matrix)

    def logits(self, x: Node) -> Node:
        """e(tokens) x [n, known]."""
        return self.product(x, self._known)

    @cached_property
    def _known(self) -> Matrix:
        return rows_of(self._embedding, self.file.tokens)


def rows_of(matrix: Matrix, tokens: Ints | slice) -> Matrix:
    """The rows of some tokens, a copy; of a slice no copy."""
    scales, least = (None if some is None else some[tokens] for some in (matrix.scales, matrix.least))
    return Matrix(matrix.values[tokens], scales, matrix.zero, least)


def token_ids() -> Node:
    """Input [n]."""
    return parameter("tokens", [-1], np.int64)


def request_of(outputs: list[Node], inputs: list[Node], threads: int | None) -> Request:
    """What runs a graph of these named nodes; threads: None is every core."""
    ov = openvino()

    model = ov.Model(outputs, inputs, "head")
    return Request(core().compile_model(model, "CPU", numerics("runtime").properties(threads)))


def run(request: Request, given: dict[str, NDArray[Any]], *wanted: str) -> list[NDArray[np.float32]]:
    """The outputs of these names, in the request's own memory. A lone row brings its double: it would take longer."""
    rows = len(next(iter(given.values())))
    times = -(-FEWEST_ROWS // rows)
    if times > 1:
        given = {name: np.repeat(each, times, axis=0) for name, each in given.items()}
    request.run(given)
    found = (request.output(name) for name in wanted)
    return [each[: len(each) // times] for each in found]


def flat(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, streams * width]."""
    return np.ascontiguousarray(features.reshape(len(features), -1))
