"""How soon drafters are asked again: each round where they draft, seldom where it does not pay.

To ask them, and to have them hear every round until then, is to take a small part of the time, however long it takes.
"""

from __future__ import annotations

from truedraw.control.average import TwoKinds
from truedraw.control.experience import Experience
from truedraw.control.late import Late
from truedraw.control.listening import Listening
from truedraw.control.table import step
from truedraw.control.watch import Watch
from truedraw.control.width import Width

IDLE = 0.0025  # of the time, that asking drafters, or their listening, may take where nothing is drafted
LONGEST = 64  # rounds
HEARING = 2  # rounds to the next asking, of those who were not asked now
BEFORE = 8  # times as long as it begins with was the last pause of the texts before: these may be others
DOZING = 3  # rounds from one asking to the next, of which one is heard later: so it is seen what that saves


class Pause:
    """One controller's, by what it is about to draft."""

    def __init__(self, width: Width, known: Experience, watch: Watch, late: Late) -> None:
        self._width, self._costs, self._watch, self._late = width, known.costs, watch, late
        self._before, self.listening = known.pauses, Listening()
        self._weighing = TwoKinds()  # seconds a round, of drafters that are asked and of weighing what they offer
        self._last: int | None = None

    def rounds(self, weighing: float, samples: int, share: float, most: int = LONGEST, *, found: bool = False) -> int:
        """From the present round, in which weighing took so many seconds, to the next one in which drafters are asked:
        at most so many. Others than those of this round have to listen to one before that. found: whether they had
        anything to offer, which may take them longer."""
        self._weighing.add(weighing, is_longer=found)
        if self._watch.is_alarmed:
            return HEARING
        if self._late.looked_at is not None:
            return 1
        self._watch.pass_on()
        idle = max(self._weighing.value, self.listening.seconds) / (IDLE * self._width.plain(samples))
        is_busy = self._width.rows > 0 or not self._costs.is_known
        wanted = max(int(idle) + 1, 1 if self.listening.is_known else DOZING)
        kind = step(samples)
        last = max(1, self._before.get(kind, 1) // BEFORE) if self._last is None else self._last
        self._last = self._before[kind] = 1 if is_busy else min(2 * last, wanted, most)
        return self._last if share == 1.0 else max(self._last, HEARING)
