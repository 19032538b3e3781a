"""What a drafter takes for a text: alone, or in one call for several, which takes less than as many calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from truedraw.control.average import FIRST, Average, warmed
from truedraw.control.costs import PassCosts
from truedraw.control.slope import Slope
from truedraw.protocol import DraftCost

NODE = 0.15  # of what a further level of a tree takes, that each further token of it takes beside
COMPANY = 0.25  # of what a call for one text takes, that each further text takes in it, before that was seen


class Rates(NamedTuple):
    """Seconds that a drafter takes for one text."""

    call: float
    token: float
    level: float  # the first of a tree, which reads what the target has said
    further: float  # each one behind it


class Before(NamedTuple):
    """What it took when the model was loaded before, by what passes take now."""

    cost: DraftCost
    passes: PassCosts

    def rates(self) -> Rates:
        """The machine may have become slower or faster since, and does while its passes are measured anew."""
        unit, cost = self.passes.unit, self.cost
        further = cost.level if cost.further is None else cost.further
        return Rates(unit * cost.call, unit * cost.token, unit * cost.level, unit * further)


class Pace:
    """What a drafter takes for one text; what it took `before` serves until enough calls were measured."""

    def __init__(self, before: Before | None = None) -> None:
        self._call, self._token, self._levels = Average(), Average(), Slope()
        self._company = Slope(COMPANY)  # seconds of a token for so many texts
        self._before = before

    @property
    def is_measured(self) -> bool:
        """Whether it was, often enough to be believed."""
        return self._call.count >= FIRST

    @property
    def is_known(self) -> bool:
        """Whether it was measured often enough to be believed, now or before."""
        return self._before is not None or self.is_measured

    @property
    def rates(self) -> Rates:
        """As far as is known; 0 before anything was measured."""
        if self._before is not None:
            return self._before.rates()
        return Rates(self._call.value, self._token.value, self._levels.first, self._levels.further)

    @property
    def call(self) -> float:
        """Seconds of a call, 0 before anything was measured."""
        return self.rates.call

    def chain(self, tokens: int) -> float:
        """Seconds of a chain; 0 until that is known: what was measured so far is mostly the warming up."""
        return self.rates.token * tokens if self.is_known else 0.0

    def fade(self, share: float) -> None:
        """What was measured counts for so much of what it did: it was long ago."""
        for each in (self._call, self._token, self._levels):
            each.fade(share)

    def tree(self, levels: int, tokens: int) -> float:
        """Seconds of a tree, 0 until that is known: a level is one step of the drafter, and tokens beside are cheap."""
        return priced(self.rates, levels, tokens) if self.is_known else 0.0

    def trees(self, depths: Sequence[int]) -> list[float]:
        """The same of trees of 1, 2, ... tokens, which have so many levels."""
        rates = self.rates if self.is_known else Rates(0.0, 0.0, 0.0, 0.0)
        return [priced(rates, levels, tokens) for tokens, levels in enumerate(depths, 1)]

    def part(self, texts: int) -> float:
        """What a text has of a call for so many, of what it takes alone."""
        first, further = self._company.first, self._company.further
        more = further / first if first > 0.0 else COMPANY
        return (1.0 + more * (texts - 1)) / texts if texts > 1 else 1.0

    def add(self, seconds: float, tokens: float, levels: float = 0.0, calls: int = 1, texts: int = 1) -> None:
        """A text's part of the time of a call for so many, of which each drafted so many tokens; one that found nothing
        tells little at first.

        levels: of their tree, 0 where they are a chain. What a tree takes is said of those that are found.
        """
        if not tokens and not self.is_measured:
            return
        seconds = self._alone(seconds, tokens, levels, calls, texts)
        self._call = warmed(self._call, seconds, calls)
        self._token = warmed(self._token, seconds / max(1.0, tokens), calls)
        if tokens:
            self._levels.add(beyond(levels or tokens, tokens), seconds, calls)
        if self.is_measured:
            self._before = None

    def _alone(self, seconds: float, tokens: float, levels: float, calls: int, texts: int) -> float:
        """What a text would have taken that had drafted alone; how much that is, is learnt as well."""
        once, whole = self.tree(1, 1), self.tree(int(levels or tokens), int(tokens))
        if tokens:
            self._company.add(texts - 1, texts * seconds * (once / whole if whole > 0.0 else 1.0), calls)
        return seconds / self.part(texts)


def priced(rates: Rates, levels: int, tokens: int) -> float:
    """Seconds of a tree."""
    return rates.level + rates.further * beyond(levels, tokens)


def beyond(levels: float, tokens: float) -> float:
    """What a tree takes beside its first token, in further levels."""
    return max(levels - 1.0, 0.0) + NODE * max(tokens - 1.0, 0.0)
