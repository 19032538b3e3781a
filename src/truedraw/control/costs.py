"""What a pass costs by its rows and texts: a table measured once a machine, and how passes have done by it since.

A text costs more than its rows: its part of the cache is read for it alone. So v(rows, texts) is that of one text with
all the rows, and what so many texts with one row each take more than one text with as many rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from truedraw.protocol import KnowsCosts

USUAL: Mapping[int, float] = MappingProxyType(
    {1: 1.0, 2: 1.01, 4: 1.04, 6: 1.07, 8: 1.14, 12: 1.41, 16: 1.59, 32: 2.33, 64: 3.85, 128: 7.0}
)
"""Passes of one row that a pass over so many is worth, int8 weights on two cores: where nothing was measured."""
NO_TEXTS: Mapping[int, float] = MappingProxyType({})
LADDER = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Row counts that are told apart; the engine pads to about these."""
PRIOR_PASSES = 8  # measured passes that weigh as much as what the table and all other passes say
MEMORY = 32  # passes that running averages reach back
DRIFT = 1.5  # times the one row count may take of its seconds in the table what another takes of its own
"""What long texts, and the work that is done on each row after a pass, make of it stays below this."""
ENOUGH = 32  # passes of a row count before it is compared


class Average:
    """A running mean that turns into an exponential one with a memory of `MEMORY` values."""

    def __init__(self, value: float = 0.0, count: int = 0) -> None:
        self.count, self.value = count, value

    def add(self, value: float) -> None:
        """Take one more value."""
        self.count += 1
        self.value += (value - self.value) / min(self.count, MEMORY)


class PassCosts:
    """Seconds of a pass over so many rows of so many texts.

    `table`: seconds by rows, of one text; `texts`: by texts with one row each, in the same unit, which may be any one:
    what is measured sets it. Every row count on the ladder has its own average, in units of the table, and leans on
    that of all passes.
    """

    def __init__(self, table: Mapping[int, float] = USUAL, texts: Mapping[int, float] = NO_TEXTS) -> None:
        self._rows = Line(table)
        extra = {count: seconds - self._rows(count) for count, seconds in texts.items() if count > 1}
        self._extra = Line({1: 0.0, **extra})
        self._last = max(table)
        self._table: dict[tuple[int, int], float] = {}
        self._measured: dict[int, Average] = {}
        self._all = Average()

    @classmethod
    def of(cls, engine: object) -> PassCosts:
        """As the engine has measured them, which may take it seconds the first time; else the usual ones."""
        measured = engine.pass_costs() if isinstance(engine, KnowsCosts) else None
        return cls() if measured is None else cls(measured.rows, measured.texts)

    def add(self, rows: int, seconds: float, texts: int = 1) -> None:
        """One pass."""
        ratio = seconds / self.table(rows, texts)
        self._all.add(ratio)
        self._measured.setdefault(step(rows), Average()).add(ratio)

    def passes(self, rows: int) -> int:
        """How many of so many rows were measured."""
        here = self._measured.get(step(rows))
        return 0 if here is None else here.count

    def seconds(self, rows: int, texts: int = 1) -> float:
        """Of a pass over `rows`, those of the texts and of their drafts; in units of the table at first."""
        usual = self._all.value if self._all.count else 1.0
        here = self._measured.get(step(rows))
        if here is None:
            return self.table(rows, texts) * usual
        weight = min(here.count, MEMORY)
        share = PRIOR_PASSES * (1 - weight / MEMORY)
        return self.table(rows, texts) * (share * usual + weight * here.value) / (share + weight)

    def table(self, rows: int, texts: int = 1) -> float:
        """What the table says, or its neighbours."""
        found = self._table.get((rows, texts))
        if found is None:
            found = self._table[rows, texts] = self._rows(rows) + self._extra(texts)
        return found

    def drifted(self) -> bool:
        """Whether row counts have come to compare otherwise than in the table, which should be measured again.

        That all take longer, or less, is no drift: the machine is shared, or the texts are long.
        """
        known = [average.value for rows, average in self._measured.items()
                 if rows <= self._last and average.count >= ENOUGH]  # fmt: skip
        return bool(known) and max(known) > DRIFT * min(known)


class Line:
    """Through points with rising values: straight in between, and on as between the last two. It never falls."""

    def __init__(self, points: Mapping[int, float]) -> None:
        self._at = np.array(sorted(points))
        self._values = np.maximum.accumulate([points[place] for place in self._at.tolist()])

    def __call__(self, place: int) -> float:
        """The value there."""
        last = int(self._at[-1])
        if place <= last or len(self._at) == 1:
            return float(np.interp(place, self._at, self._values))
        slope = (self._values[-1] - self._values[-2]) / (last - self._at[-2])
        return float(self._values[-1] + (place - last) * slope)


def step(rows: int) -> int:
    """The count on the ladder that stands for so many rows."""
    place = bisect_left(LADDER, rows)
    return LADDER[place] if place < len(LADDER) else -(-rows // LADDER[-1]) * LADDER[-1]
