"""How many rows to pad a pass to.

A pass with another row count than the one before takes about a third of a plain pass longer, because the kernels are
prepared anew for each shape. Rows above what is needed cost little while there are few, so the count is held at the
largest recent one there, and rounded up elsewhere.
"""

from __future__ import annotations

from collections import deque

LADDER = (2, 4, 6, 8, 12, 16, 24)  # then multiples of 8; two at least, as a lone row may meet another kernel
STEP = 8
MEMORY = 6  # passes after which a larger count is forgotten: its rows have cost as much by then as the change does
STEADY = 8  # up to here a pass takes at most a fifth longer than one of two rows: less than a change costs
SLACK = 4 / 3  # beyond that, a count that is at most a third above what is needed is held for LATELY passes only:
LATELY = 2  # its rows cost as much in two passes as a change costs, which pays where two counts alternate


class RowCounts:
    """Chooses the row count of each pass from what the last passes needed."""

    def __init__(self) -> None:
        self._recent: deque[int] = deque(maxlen=MEMORY)

    def choose(self, needed: int) -> int:
        """Rows for a pass that needs `needed`."""
        held = [count for count in self._recent if count <= STEADY]
        held += [count for count in list(self._recent)[-LATELY:] if count <= needed * SLACK]
        self._recent.append(needed)
        return rounded(max([needed, *held]))


def rounded(needed: int) -> int:
    """The next count on the ladder."""
    for count in LADDER:
        if needed <= count:
            return count
    return -(-needed // STEP) * STEP
