"""What passes take by their rows and texts, as measured once: between the counts that were, and beyond them.

A text costs more than its rows: its part of the cache is read for it alone. So v(rows, texts) is that of one text with
all the rows, and what so many texts with one row each take more than one text with as many rows. Each row looks at all
of its text, so one of a long text costs more than one of a short one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from truedraw.protocol import PassTable

USUAL: Mapping[int, float] = MappingProxyType(
    {1: 1.0, 2: 1.01, 4: 1.04, 6: 1.07, 8: 1.14, 12: 1.41, 16: 1.59, 32: 2.33, 64: 3.85, 128: 7.0}
)
"""Passes of one row that a pass over so many is worth, int8 weights on two cores: where nothing was measured."""
NONE: Mapping[int, float] = MappingProxyType({})
LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Row counts that are told apart, where passes have just the rows that they need."""
PADDED = tuple(rows for rows in LADDER if rows not in (3, 5))
"""The same of an engine that pads: it does so to about these."""

MOST_KNOWN = 1024  # counts whose step is kept
MOST_OWN = 16  # rows of a text that look at all of it: more are a prompt's, its own or that of a text beside it


def whole(measured: PassTable | None) -> PassTable | None:
    """With all its parts: an engine may be somebody else's."""
    if measured is None:
        return None
    further, length = getattr(measured, "further", None), getattr(measured, "length", None)
    return PassTable(measured.rows, measured.texts, further or {}, length or 0)


class Table:
    """v(rows, texts, length). `rows`: seconds by rows, of one text; `texts`: by texts with one row each; `further`: by
    rows of one text, what each token of it takes more, beyond those `measured`; all in the same unit."""

    def __init__(
        self, rows: Mapping[int, float] = USUAL, texts: Mapping[int, float] = NONE,
        further: Mapping[int, float] = NONE, measured: int = 0,
    ) -> None:  # fmt: skip
        self._rows, self._further, self._measured = Line(rows), Line(further or {1: 0.0}), measured
        extra = {count: seconds - self._rows(count) for count, seconds in texts.items() if count > 1}
        self._extra = Line({1: 0.0, **extra})
        self._found: dict[tuple[int, int], tuple[float, float]] = {}
        self.last = max(rows)
        """Rows up to which passes were measured."""

    def __call__(self, rows: int, texts: int = 1, length: float = 0.0) -> float:
        """What the table says, or its neighbours; `length`: tokens of each text."""
        found = self._found.get((rows, texts))
        if found is None:
            own = min(max(1.0, rows / texts), MOST_OWN)
            found = self._found[rows, texts] = self._rows(rows) + self._extra(texts), texts * self._further(own)
        seconds, each = found
        return seconds + each * max(0.0, length - self._measured)


class Line:
    """Through points with rising values: straight in between, and on as between the last two. It never falls."""

    def __init__(self, points: Mapping[int, float]) -> None:
        self._at = np.array(sorted(points))
        self._values = np.maximum.accumulate([points[place] for place in self._at.tolist()])

    def __call__(self, place: float) -> float:
        """The value there."""
        last = int(self._at[-1])
        if place <= last or len(self._at) == 1:
            return float(np.interp(place, self._at, self._values))
        slope = (self._values[-1] - self._values[-2]) / (last - self._at[-2])
        return float(self._values[-1] + (place - last) * slope)


@lru_cache(maxsize=MOST_KNOWN)
def step(rows: int, ladder: tuple[int, ...] = LADDER) -> int:
    """The count on the ladder that stands for so many rows."""
    place = bisect_left(ladder, rows)
    return ladder[place] if place < len(ladder) else -(-rows // ladder[-1]) * ladder[-1]
