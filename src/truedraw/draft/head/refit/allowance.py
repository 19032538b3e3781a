"""Time that something may take beside the writing of texts: a share of what passes while they are written."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from types import TracebackType

SHARE = 0.02  # of the time: what it brings is a few per cent of a round
LONGEST = 1.0  # seconds between two rounds that count: nothing is saved up while nobody writes
MOST = 0.05  # seconds that are saved up, and that are owed


class Allowance:
    """Use it in a `with` block around what takes time. `clock` gives seconds."""

    def __init__(self, share: float = SHARE, clock: Callable[[], float] = perf_counter) -> None:
        self._share, self._clock = share, clock
        self.seconds = 0.0  # taken in all
        self._left, self._since, self._begun = 0.0, clock(), 0.0

    @property
    def is_left(self) -> bool:
        """Whether there is time for something that is long."""
        return self._left > 0

    @property
    def is_spent(self) -> bool:
        """Whether there is not even time for what is short."""
        return self._left <= -MOST

    def passed(self) -> None:
        """Another round begins."""
        now = self._clock()
        self._left = min(MOST, self._left + self._share * min(now - self._since, LONGEST))
        self._since = now

    def __enter__(self) -> None:
        self._begun = self._clock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        taken = self._clock() - self._begun
        self.seconds += taken
        self._left -= taken
