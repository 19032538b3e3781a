"""Time that a stage has had, in this run and those before."""

from __future__ import annotations

from time import monotonic


class Clock:
    """`before`: seconds of earlier runs. `limit`: seconds in all; None: no limit."""

    def __init__(self, before: float, limit: float | None) -> None:
        self.limit, self._before, self._began = limit, before, monotonic()

    @property
    def seconds(self) -> float:
        """Spent."""
        return self._before + monotonic() - self._began

    @property
    def share(self) -> float:
        """Of the limit; 0 where there is none."""
        if self.limit is None:
            return 0.0
        return self.seconds / self.limit if self.limit > 0 else 1.0

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.share >= 1
