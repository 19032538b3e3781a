"""What it takes that drafters hear every round, as they have to where they may be asked in the next one."""

from __future__ import annotations

from truedraw.control.average import FIRST, Average, warmed

HEARD = 2  # rounds that are heard for one in which drafters are asked: it, and the one before it


class Listening:
    """Seconds of rounds beside passes and drafters, of those that are heard at once, and of those heard later."""

    def __init__(self) -> None:
        self._awake, self._asleep = Average(), Average()

    def add(self, seconds: float, *, dozing: bool, rounds: int = 1) -> None:
        """Of each of so many rounds."""
        if dozing:
            self._asleep = warmed(self._asleep, seconds, rounds)
        else:
            self._awake = warmed(self._awake, seconds, rounds)

    def knows(self, *, dozing: bool) -> bool:
        """Whether enough rounds of that kind were seen."""
        return (self._asleep if dozing else self._awake).count >= FIRST

    @property
    def is_known(self) -> bool:
        """Whether both were seen a few times."""
        return min(self._awake.count, self._asleep.count) >= FIRST

    @property
    def seconds(self) -> float:
        """What asking once takes beyond rounds in which nobody listens; 0 until that is known."""
        return max(0.0, HEARD * (self._awake.value - self._asleep.value)) if self.is_known else 0.0
