"""What has been learnt about a model on this machine and about the drafters for it; jobs of a model share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from truedraw.control.acceptance import Acceptance
from truedraw.control.average import FIRST, Average, warmed
from truedraw.control.costs import PassCosts
from truedraw.control.opinion import Opinion
from truedraw.control.slope import Slope
from truedraw.control.upkeep import Upkeep
from truedraw.protocol import Asker, DraftCost, Proposal

MOST_RECORDS = 256  # drafters with settings that are told apart; the oldest goes first
NODE = 0.15  # of what a further level of a tree takes, that each further token of it takes beside
CHEAP = 0.05  # of a pass, a call for one text
Kind = tuple[str, bool]
"""A drafter by its name in a job, and whether a coupled rule judges what it drafts."""
NOTHING_KEPT: Mapping[Kind, DraftCost] = MappingProxyType({})


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

    @property
    def token(self) -> float:
        """Seconds of a draft token."""
        return self.rates.token

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

    def add(self, seconds: float, tokens: float, levels: float = 0.0, calls: int = 1) -> None:
        """A call's time for a text, which drafted so many tokens; one that found nothing tells little at first.

        levels: of their tree, 0 where they are a chain. What a tree takes is said of those that are found.
        """
        if not tokens and not self.is_measured:
            return
        self._call = warmed(self._call, seconds, calls)
        self._token = warmed(self._token, seconds / max(1.0, tokens), calls)
        if tokens:
            self._levels.add(beyond(levels or tokens, tokens), seconds, calls)
        if self.is_measured:
            self._before = None


def priced(rates: Rates, levels: int, tokens: int) -> float:
    """Seconds of a tree."""
    return rates.level + rates.further * beyond(levels, tokens)


def beyond(levels: float, tokens: float) -> float:
    """What a tree takes beside its first token, in further levels."""
    return max(levels - 1.0, 0.0) + NODE * max(tokens - 1.0, 0.0)


@dataclass(slots=True)
class Record:
    """Of one drafter."""

    opinion: Opinion = field(default_factory=Opinion)
    acceptance: Acceptance = field(default_factory=Acceptance)
    pace: Pace = field(default_factory=Pace)
    is_certain: bool = True  # whether nothing that it ever offered had a law
    drafted_at: int | None = None  # the round of the experience in which it drafted last, asked by a decision


class Experience:
    """One thread at a time. `kept`: what drafters took when the model was loaded before, see kept.py."""

    def __init__(self, costs: PassCosts | None = None, kept: Mapping[Kind, DraftCost] = NOTHING_KEPT) -> None:
        self.costs, self.upkeep = costs or PassCosts(), Upkeep()
        self._kept = kept
        self.recalls_dear = any(cost.call > CHEAP for cost in kept.values())
        """Whether a drafter that is not cheap was measured when the model was loaded before."""
        self.rounds = 0
        """Of all controllers that learn here."""
        self.pauses: dict[int, int] = {}
        """Rounds from one asking to the next, by the number of texts, as they came to be last."""
        self._records: dict[Kind, Record] = {}

    def round_seconds(self, rows: int, texts: int, drafts: int, length: float | None = None) -> float:
        """Of a round whose pass has so many rows, `drafts` of them drafts; without its drafters. See PassCosts."""
        return self.costs.seconds(rows, texts, length) + self.upkeep.seconds(texts, drafts)

    @property
    def drafted_at(self) -> int:
        """The last round in which somebody drafted, asked by a decision."""
        return max((record.drafted_at or 0 for record in self._records.values()), default=0)

    @property
    def records(self) -> Mapping[Kind, Record]:
        """Of the drafters that somebody has asked about."""
        return MappingProxyType(self._records)

    def is_cheap(self, record: Record) -> bool:
        """Whether a drafter's offers are made to be weighed."""
        return record.is_certain and record.pace.call < CHEAP * self.costs.seconds(1)

    def wanted(self, asker: Asker, length: int) -> dict[str, int]:
        """Draft tokens that cheap drafters are to offer a text; one of those whose price is not known yet."""
        tokens = {}
        for source in asker.sources:
            record = self.of(source, asker.coupled)
            if not record.pace.is_known and record.is_certain:
                tokens[source] = min(asker.room, 1)
            elif self.is_cheap(record):
                tokens[source] = min(asker.room, length)
        return {source: each for source, each in tokens.items() if each}

    def timed(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> None:
        """What each drafter took for its offers, by its name in these jobs."""
        for source, took in seconds.items():
            made = [(asker.coupled, len(offer[source])) for asker, offer in zip(askers, offers, strict=True)
                    if source in offer]  # fmt: skip
            for coupled in {kind for kind, _ in made}:
                drafted = sum(tokens for _, tokens in made) / len(made)
                self.of(source, coupled).pace.add(took / len(made), drafted)

    def of(self, source: str, coupled: bool = False) -> Record:
        """What is known about a drafter, by its name in a job, under a coupled rule or another."""
        name = source, coupled
        if name not in self._records:
            while len(self._records) >= MOST_RECORDS:
                del self._records[next(iter(self._records))]
            before = self._kept.get(name)
            self._records[name] = Record(pace=Pace(None if before is None else Before(before, self.costs)))
        return self._records[name]
