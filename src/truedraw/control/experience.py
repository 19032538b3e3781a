"""What has been learnt about a model on this machine and about the drafters for it; jobs of a model share it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from truedraw.control.acceptance import Acceptance
from truedraw.control.bringing import Bringing
from truedraw.control.costs import PassCosts
from truedraw.control.opinion import Opinion
from truedraw.control.pace import Before, Pace
from truedraw.control.upkeep import Upkeep
from truedraw.protocol import Asker, DraftCost, Proposal

MOST_RECORDS = 256  # drafters with settings that are told apart; the oldest goes first
CHEAP = 0.05  # of a pass, a call for one text
Kind = tuple[str, bool]
"""A drafter by its name in a job, and whether a coupled rule judges what it drafts."""
NOTHING_KEPT: Mapping[Kind, DraftCost] = MappingProxyType({})


@dataclass(slots=True)
class Record:
    """Of one drafter."""

    opinion: Opinion = field(default_factory=Opinion)
    acceptance: Acceptance = field(default_factory=Acceptance)
    pace: Pace = field(default_factory=Pace)
    bringing: Bringing = field(default_factory=Bringing)
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

    def wanted(self, asker: Asker, length: int, rate: Callable[[], float]) -> dict[str, int]:
        """Draft tokens that cheap drafters are to offer a text; one of those whose price is not known yet. Of several,
        some rest that are not worth asking, where time is worth that `rate` of tokens a second."""
        tokens = {}
        for source in asker.sources:
            record = self.of(source, asker.coupled)
            if not record.pace.is_known and record.is_certain:
                tokens[source] = min(asker.room, 1)
            elif self.is_cheap(record):
                tokens[source] = min(asker.room, length)
        asked = {source: each for source, each in tokens.items() if each}
        for source in self._resting(asker, asked, rate) if len(asked) > 1 else ():
            del asked[source]
        return asked

    def _resting(self, asker: Asker, asked: Collection[str], rate: Callable[[], float]) -> list[str]:
        """Whose offers bring less than it takes to ask for them, but for one that is asked in any case."""
        worth = rate()
        found = [each for each in asked if self.of(each, asker.coupled).bringing.rests(self.rounds, worth)]
        return found[: len(asked) - 1]

    def timed(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> None:
        """What each drafter took for its offers, by its name in these jobs."""
        for source, took in seconds.items():
            made = [(asker.coupled, len(offer[source])) for asker, offer in zip(askers, offers, strict=True)
                    if source in offer]  # fmt: skip
            for coupled in {kind for kind, _ in made}:
                drafted = sum(tokens for _, tokens in made) / len(made)
                record = self.of(source, coupled)
                record.pace.add(took / len(made), drafted)
                record.bringing.took(took / len(made), self.rounds, found=drafted > 0.0)

    def weighed(self, asker: Asker, made: Mapping[str, Proposal], worths: Mapping[str, float]) -> None:
        """What the drafters that were asked for a text offered it is worth, and others promise."""
        if len(made) > 1:
            for source in made:
                others = max((worth for other, worth in worths.items() if other != source), default=0.0)
                self.of(source, asker.coupled).bringing.saw(worths.get(source, 0.0), others)

    def of(self, source: str, coupled: bool = False) -> Record:
        """What is known about a drafter, by its name in a job, under a coupled rule or another."""
        name = source, coupled
        if name not in self._records:
            while len(self._records) >= MOST_RECORDS:
                del self._records[next(iter(self._records))]
            before = self._kept.get(name)
            self._records[name] = Record(pace=Pace(None if before is None else Before(before, self.costs)))
        return self._records[name]
