"""Graphs of a fixed shape for passes that come again and again: the same bits, sooner.

Where row counts may vary, the runtime looks at every node in every pass, whether its shape has changed: one or two
milliseconds, a sixth of a pass over one text for a model of 135M parameters. A graph of one shape does without; but it
takes a second to compile and holds its own copy of the weights. So it is compiled once it would have saved that second,
where the weights are small, and there are only a few. Texts go on meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence as Seq
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from truedraw.engine.openvino.row_counts import rounded
from truedraw.engine.openvino.runner import Runner
from truedraw.engine.paged.parts import Part, num_apart
from truedraw.sampling.ranges import Wholes

NARROW = (2, 4, 8)  # rows, of the matrices and of attention alike: one text's passes are filled up to these
WIDEST = 64  # rows; wider passes would hardly notice
AFTER = 800  # passes that a graph would have served before it is compiled: it takes as long as these have lost
PROOFS = 3  # passes of a new graph that are compared with the other's
MOST_GRAPHS = 4  # the first ones that have paid for themselves
MOST_BYTES = 256 << 20  # of weights: larger ones take so long to read that the rest does not matter
COUNTED = Wholes(-1, "a number of passes, 0 for at once, or -1 for never")


class Shape(NamedTuple):
    """What is fixed of a pass."""

    rows: int  # of the matrices, and of the logits
    seen: int  # attention rows


class Coming(NamedTuple):
    """A graph that is being compiled."""

    shape: Shape
    runner: Future[Runner | None]


class FixedGraphs:
    """One for each shape that has paid for itself. `make` compiles one, in a thread; None where this runtime cannot.

    after: passes of a shape; 0 = its first one waits for the graph.
    """

    def __init__(self, make: Callable[[Shape], Runner | None], after: int = AFTER) -> None:
        self._make, self._after = make, after
        self._passes: Counter[Shape] = Counter()
        self._coming: Coming | None = None
        self._made: dict[Shape, Runner | None] = {}  # None: other bits, or none to be had
        self._proofs: Counter[Shape] = Counter()

    def runner(self, shape: Shape | None) -> Runner | None:
        """For a pass of this shape, which is counted; None: it is for the graph of any shape."""
        if shape is None:
            return None
        self._passes[shape] += 1
        self._begin()
        self._take()
        return self._made.get(shape)

    def settle(self) -> None:
        """Wait for what is being compiled: what is measured, or closed, must be alone."""
        if self._coming is not None:
            wait([self._coming.runner])

    def is_proven(self, shape: Shape) -> bool:
        """Whether the graph of this shape has computed the same bits as the one of any shape, often enough."""
        return self._proofs[shape] >= PROOFS

    def prove(self, shape: Shape, equal: bool) -> None:
        """It has been compared once more; one with other bits is let go for good."""
        if equal:
            self._proofs[shape] += 1
        else:
            self.drop(shape)

    def drop(self, shape: Shape) -> None:
        """Do without."""
        self._made[shape] = None

    def _begin(self) -> None:
        """Compile one that is due, one at a time."""
        if self._coming is not None or len(self._made) >= MOST_GRAPHS:
            return
        due = (shape for shape, passes in self._passes.items() if passes >= self._after and shape not in self._made)
        if (shape := next(due, None)) is None:
            return
        try:
            self._coming = Coming(shape, beside(self._make, shape))
        except RuntimeError:  # no thread to be had: there are too many, or the program is about to end
            self._made[shape] = None

    def _take(self) -> None:
        """What has been compiled serves from now on."""
        if self._coming is None:
            return
        if not self._after:
            self.settle()
        if self._coming.runner.done():
            (shape, runner), self._coming = self._coming, None
            self._made[shape] = None  # whatever comes of it, once is enough
            self._made[shape] = runner.result()


def beside(make: Callable[[Shape], Runner | None], shape: Shape) -> Future[Runner | None]:
    """What `make` returns, from a thread of its own, which the end of the program waits for."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="truedraw-graph")
    future = pool.submit(make, shape)
    pool.shutdown(wait=False)
    return future


def shape_of(parts: Seq[Part], lanes: int = 0) -> Shape | None:
    """The smallest that holds all rows of a pass; None where none does. lanes: as a Batch takes it.

    Nor is there one for text alone, whose logits nobody wants, or for text among many rows.
    """
    if not any(part.first_wanted < len(part.ids) for part in parts):
        return None
    rows = sum([len(part.ids) for part in parts])
    every = [lane for part in parts for lane in part.lanes]
    seen = max(num_apart(every), lanes) if lanes else sum([len(lane.rows) for lane in every])
    if max(rows, seen) <= NARROW[-1]:
        return next(Shape(size, size) for size in NARROW if max(rows, seen) <= size)
    if rows > WIDEST or any(part.first_wanted for part in parts):
        return None
    return Shape(rounded(rows), rounded(seen))
