"""What has been learnt about a model on this machine and about the drafters for it; jobs of a model share it."""

from __future__ import annotations

from dataclasses import dataclass, field

from truedraw.control.acceptance import Acceptance
from truedraw.control.costs import Average, PassCosts
from truedraw.control.opinion import Opinion

FIRST = 3  # calls whose shortest counts: the first ones load and warm up
MOST_RECORDS = 256  # drafters with settings that are told apart; the oldest goes first
LARGEST = 4.0  # times the usual, that a call counts for at most
NODE = 0.1  # of what a level of a tree takes, that each token of it takes beside


class Pace:
    """What a drafter takes for one text."""

    def __init__(self) -> None:
        self._call, self._token, self._level = Average(), Average(), Average()

    @property
    def is_known(self) -> bool:
        """Whether it was measured often enough to be believed."""
        return self._call.count >= FIRST

    @property
    def call(self) -> float:
        """Seconds of a call, 0 before anything was measured."""
        return self._call.value

    @property
    def token(self) -> float:
        """Seconds of a draft token."""
        return self._token.value

    def chain(self, tokens: int) -> float:
        """Seconds of a chain; 0 until that is known: what was measured so far is mostly the warming up."""
        return self._token.value * tokens if self.is_known else 0.0

    def tree(self, levels: int, tokens: int) -> float:
        """Seconds of a tree, 0 until that is known; a level is one step of the drafter, whatever its tokens are."""
        return self._level.value * (levels + NODE * tokens) if self.is_known else 0.0

    def add(self, seconds: float, tokens: float, levels: float = 0.0) -> None:
        """One call's time for a text, which drafted so many tokens; one that found nothing tells little at first.

        levels: of their tree, 0 where they are a chain.
        """
        if not tokens and not self.is_known:
            return
        self._call = warmed(self._call, seconds)
        self._token = warmed(self._token, seconds / max(1.0, tokens))
        self._level = warmed(self._level, seconds / max(1.0, (levels or tokens) + NODE * tokens))


def warmed(mean: Average, seconds: float) -> Average:
    """The mean with one more time: of the first few the shortest counts, and later none counts for very much."""
    if 0 < mean.count < FIRST:
        return Average(min(seconds, mean.value), mean.count + 1)
    mean.add(min(seconds, LARGEST * mean.value) if mean.count else seconds)
    return mean


@dataclass(slots=True)
class Record:
    """Of one drafter."""

    opinion: Opinion = field(default_factory=Opinion)
    acceptance: Acceptance = field(default_factory=Acceptance)
    pace: Pace = field(default_factory=Pace)
    is_certain: bool = True  # whether nothing that it ever offered had a law


class Experience:
    """One thread at a time."""

    def __init__(self, costs: PassCosts | None = None) -> None:
        self.costs = costs or PassCosts()
        self._records: dict[tuple[str, bool], Record] = {}

    def of(self, source: str, coupled: bool = False) -> Record:
        """What is known about a drafter, by its name in a job, under a coupled rule or another."""
        name = source, coupled
        if name not in self._records:
            while len(self._records) >= MOST_RECORDS:
                del self._records[next(iter(self._records))]
            self._records[name] = Record()
        return self._records[name]
