"""Graphs of a fixed shape for passes that come again and again: the same bits, sooner.

Where row counts may vary, the runtime looks at every node in every pass, whether its shape has changed: one or two
milliseconds, a sixth of a pass over one text for a model of 135M parameters. A graph of one shape does without; but it
takes a second to compile and holds its own copy of the weights. So it is compiled once it would have saved that second,
where the weights are small, and there are only a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence as Seq
from typing import NamedTuple

from truedraw.engine.openvino.parts import Part
from truedraw.engine.openvino.row_counts import rounded
from truedraw.engine.openvino.runner import Runner
from truedraw.sampling.ranges import Wholes

NARROW = (2, 4, 8)  # rows, of the matrices and of attention alike: one text's passes are filled up to these
WIDEST = 64  # rows; wider passes would hardly notice
AFTER = 800  # passes that a graph would have served before it is compiled: it takes as long as these have lost
PATIENCE = 3  # times as many passes, after which it is compiled in the middle of a text, too
PROOFS = 3  # passes of a new graph that are compared with the other's
MOST_GRAPHS = 4  # the first ones that have paid for themselves
MOST_BYTES = 256 << 20  # of weights: larger ones take so long to read that the rest does not matter
COUNTED = Wholes(-1, "a number of passes, 0 for at once, or -1 for never")


class Shape(NamedTuple):
    """What is fixed of a pass."""

    rows: int  # of the matrices, and of the logits
    seen: int  # attention rows


class FixedGraphs:
    """One for each shape that has paid for itself. `make` compiles one; None where this runtime cannot."""

    def __init__(self, make: Callable[[Shape], Runner | None], after: int = AFTER) -> None:
        self._make, self._after = make, after
        self._passes: Counter[Shape] = Counter()
        self._made: dict[Shape, Runner | None] = {}  # None: other bits, or none to be had
        self._proofs: Counter[Shape] = Counter()

    def runner(self, shape: Shape | None) -> Runner | None:
        """For a pass of this shape, which is counted; None: it is for the graph of any shape."""
        if shape is not None:
            self._passes[shape] += 1
        self._compile(between_texts=shape is None)
        return None if shape is None else self._made.get(shape)

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

    def _compile(self, *, between_texts: bool) -> None:
        """One that is due: rather where a pass of many rows begins a text than in the middle of one."""
        wanted = self._after if between_texts else PATIENCE * self._after
        for shape, passes in self._passes.items():
            if passes >= wanted and shape not in self._made and len(self._made) < MOST_GRAPHS:
                self._made[shape] = self._make(shape)
                return


def shape_of(parts: Seq[Part]) -> Shape | None:
    """The smallest that holds all rows of a pass; None where none does.

    Nor is there one for text alone, whose logits nobody wants, or for text among many rows.
    """
    if not any(part.first_wanted < len(part.ids) for part in parts):
        return None
    rows = sum([len(part.ids) for part in parts])
    seen = sum([len(lane.rows) for part in parts for lane in part.lanes])
    if max(rows, seen) <= NARROW[-1]:
        return next(Shape(size, size) for size in NARROW if max(rows, seen) <= size)
    if rows > WIDEST or any(part.first_wanted for part in parts):
        return None
    return Shape(rounded(rows), rounded(seen))
