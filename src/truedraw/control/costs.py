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
PRIOR_PASSES = 8  # measured passes that weigh as much as what the table says
MEMORY = 32  # values that running averages reach back
SOON, LATE = 24, 128  # passes that the machine's speed reaches back, and what row counts take beside one another
WILD = 2.0  # times what was to be expected, that a pass counts for at most
BUSY = 0.6  # of the table's seconds: passes that take less were measured while the machine did other things
DRIFT = 1.5  # times the one row count may take of its seconds in the table what another takes of its own
"""What long texts, and the work that is done on each row after a pass, make of it stays below this."""
ENOUGH = 32  # passes of a row count before it is compared


class Average:
    """A running mean that turns into an exponential one with a memory of `memory` values."""

    def __init__(self, value: float = 0.0, count: int = 0, memory: int = MEMORY) -> None:
        self.count, self.value, self._memory = count, value, memory

    def add(self, value: float) -> None:
        """Take one more value."""
        self.count += 1
        self.value += (value - self.value) / min(self.count, self._memory)


class PassCosts:
    """Seconds of a pass over so many rows of so many texts.

    `table`: seconds by rows, of one text; `texts`: by texts with one row each, in the same unit, which may be any one:
    what is measured sets it. Seconds are those of the table, times how fast the machine is of late, times what passes
    of a row count have taken beside others. A machine that others use is slow for minutes: what one row count took then
    must not be held against what another takes now.
    """

    def __init__(self, table: Mapping[int, float] = USUAL, texts: Mapping[int, float] = NO_TEXTS) -> None:
        self._rows = Line(table)
        extra = {count: seconds - self._rows(count) for count, seconds in texts.items() if count > 1}
        self._extra = Line({1: 0.0, **extra})
        self._last = max(table)
        self._table: dict[tuple[int, int], float] = {}
        self._measured: dict[int, Average] = {}  # by row count, where the speed is 1
        self._speed = Average(memory=SOON)
        self._is_timed = False

    @classmethod
    def of(cls, engine: object) -> PassCosts:
        """As the engine has measured them, which may take it seconds the first time; else the usual ones."""
        measured = engine.pass_costs() if isinstance(engine, KnowsCosts) else None
        if measured is None:
            return cls()
        costs = cls(measured.rows, measured.texts)
        costs._is_timed = True
        return costs

    def add(self, rows: int, seconds: float, texts: int = 1) -> None:
        """One pass."""
        here = self._measured.setdefault(step(rows), Average(1.0, PRIOR_PASSES, LATE))
        ratio = seconds / self.table(rows, texts)
        if not self._speed.count:
            self._speed.add(ratio)
            here.add(1.0)
            return
        usual = self._speed.value
        ratio = min(ratio, WILD * usual * here.value)
        self._speed.add(ratio / here.value)
        here.add(ratio / usual)

    def passes(self, rows: int) -> int:
        """How many of so many rows were measured."""
        here = self._measured.get(step(rows))
        return 0 if here is None else here.count - PRIOR_PASSES

    def seconds(self, rows: int, texts: int = 1) -> float:
        """Of a pass over `rows`, those of the texts and of their drafts; in units of the table at first."""
        speed = self._speed.value if self._speed.count else 1.0
        here = self._measured.get(step(rows))
        return self.table(rows, texts) * speed * (1.0 if here is None else here.value)

    def plain(self, texts: int) -> float:
        """Of a pass without drafts, which takes no longer than any that had some, whatever was measured of it once."""
        wider = [rows for rows in self._measured if rows > texts]
        return min([self.seconds(rows, texts) for rows in (texts, *wider)])

    def table(self, rows: int, texts: int = 1) -> float:
        """What the table says, or its neighbours."""
        found = self._table.get((rows, texts))
        if found is None:
            found = self._table[rows, texts] = self._rows(rows) + self._extra(texts)
        return found

    def drifted(self) -> bool:
        """Whether row counts have come to compare otherwise than in the table, which should be measured again.

        That all take longer is no drift: the machine is shared, or the texts are long. Where all take much less, the
        machine had other things to do when the table was measured, which bends it.
        """
        if self._is_timed and self._speed.count >= ENOUGH and self._speed.value < BUSY:
            return True
        known = [average.value for rows, average in self._measured.items()
                 if rows <= self._last and average.count >= ENOUGH + PRIOR_PASSES]  # fmt: skip
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
