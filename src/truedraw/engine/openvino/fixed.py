"""Graphs of a fixed shape for passes of a few rows: the same bits, a sixth sooner for a model of 135M parameters.

Where row counts may vary, the runtime looks at every node in every pass, whether its shape has changed: one or two
milliseconds, which only small models notice. A graph of one shape does without, and filling it up costs next to
nothing; but it takes a second to compile and holds its own copy of the weights. So it is compiled once it would have
saved that second, and where the weights are small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence as Seq

from truedraw.engine.openvino.parts import Part
from truedraw.engine.openvino.runner import Runner
from truedraw.sampling.ranges import Wholes

SIZES = (2, 4, 8)  # rows, of the matrices and of attention alike
AFTER = 800  # passes that a graph would have served before it is compiled: it takes as long as these have lost
PATIENCE = 3  # times as many passes, after which it is compiled in the middle of a text, too
COUNTED = Wholes(-1, "a number of passes, 0 for at once, or -1 for never")
MOST_BYTES = 256 << 20  # of weights: larger ones take so long to read that the rest does not matter


class FixedGraphs:
    """One for each size that has paid for itself. `make` compiles one; None where this runtime cannot."""

    def __init__(self, make: Callable[[int], Runner | None], after: int = AFTER) -> None:
        self._make, self._after = make, after
        self._passes: Counter[int] = Counter()
        self._made: dict[int, Runner | None] = {}  # None: other bits, or none to be had
        self._proven: set[int] = set()

    def runner(self, size: int | None) -> Runner | None:
        """For a pass of this size, which is counted; None: it is for the graph of any shape."""
        if size is not None:
            self._passes[size] += 1
        self._compile(between_texts=size is None)
        return None if size is None else self._made.get(size)

    def is_proven(self, size: int) -> bool:
        """Whether the graph of this size has computed the same bits as the one of any shape."""
        return size in self._proven

    def prove(self, size: int, equal: bool) -> None:
        """It has been compared; one with other bits is let go for good."""
        if equal:
            self._proven.add(size)
        else:
            self._made[size] = None

    def _compile(self, *, between_texts: bool) -> None:
        """What is due: rather where a pass of many rows begins a text than in the middle of one."""
        wanted = self._after if between_texts else PATIENCE * self._after
        for size, passes in self._passes.items():
            if passes >= wanted and size not in self._made:
                self._made[size] = self._make(size)


def size_of(parts: Seq[Part]) -> int | None:
    """The smallest that holds all rows of a pass; None where none does."""
    rows = sum([len(part.ids) for part in parts])
    seen = sum([len(lane.rows) for part in parts for lane in part.lanes])
    return next((size for size in SIZES if max(rows, seen) <= size), None)
