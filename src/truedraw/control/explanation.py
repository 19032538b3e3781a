"""What a controller did, why, and what it counted on, in numbers: those of several runs can be added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from truedraw.control.rivalry import Rivalry, preference
from truedraw.control.sums import add_up

MEASURING = "to measure what a plain pass takes"
WAITING = "until it is known what passes take"
PAUSING = "drafters are asked seldom, as long as they offer nothing that pays"
NOTHING_OFFERED = "no drafter had anything likely to offer"
NOT_WORTH_IT = "what was offered was not worth its rows"
NO_ROOM = "there was no room for a draft, or nobody to ask"


@dataclass(slots=True)
class Use:
    """Of one drafter. A text asks it, it may have an offer, and of the best offer some tokens are taken."""

    asked: int = 0  # times, by one text each
    offered: int = 0  # times that it had something
    offered_tokens: int = 0
    taken: int = 0  # times that some of it were taken
    drafted: int = 0  # tokens taken
    expected: float = 0.0  # tokens of them that its record promised
    accepted: int = 0  # tokens of them that were kept
    seconds: float = 0.0

    def add(self, other: Use) -> None:
        """Another run's."""
        add_up(self, other)


@dataclass(slots=True)
class Stay:
    """Rounds that were plain for one reason, and where a wider pass was weighed what it would have gained.

    Their passes are among the widths; what asking drafters took in them, for nothing, stands here.
    """

    rounds: int = 0
    first: int = 0  # round, from 1
    last: int = 0
    weighed: int = 0  # rounds
    speeds: float = 0.0  # sum over them of the best speed with drafts, relative to plain sampling
    expected_seconds: float = 0.0  # of drafters, by what such calls take
    seconds: float = 0.0  # that were measured

    def add(self, other: Stay) -> None:
        """Another run's."""
        self.expected_seconds += other.expected_seconds
        self.seconds += other.seconds
        self.first = min(self.first or other.first, other.first or self.first)
        self.last = max(self.last, other.last)
        self.rounds, self.weighed = self.rounds + other.rounds, self.weighed + other.weighed
        self.speeds += other.speeds

    def to_dict(self) -> dict[str, Any]:
        """For JSON; best_speed: with drafts, relative to plain sampling, the mean of what was expected."""
        best = self.speeds / self.weighed if self.weighed else None
        return {
            "rounds": self.rounds,
            "first": self.first,
            "last": self.last,
            "best_speed": best,
            "expected_asking_seconds": self.expected_seconds,
            "asking_seconds": self.seconds,
        }


@dataclass(slots=True)
class Passes:
    """Rounds of so many texts with room for so many draft rows in a pass; sums over them.

    Seconds are those of passes, and of drafters where something was drafted.
    """

    rounds: int = 0
    expected: float = 0.0  # tokens, one a text and those of the drafts
    tokens: int = 0  # that came
    expected_seconds: float = 0.0  # by what such passes and drafters take; first calls, which warm up, take nothing
    plain_seconds: float = 0.0  # of passes without drafts, likewise
    seconds: float = 0.0  # that were measured
    length: float = 0.0  # tokens of a text, in the mean of each pass
    slow: float = 0.0  # how slow the machine was, summed over rounds
    told: int = 0  # rounds of which that is known

    def add(self, other: Passes) -> None:
        """Another run's."""
        add_up(self, other)


@dataclass(slots=True)
class Explanation:
    """Everything that a controller can say of one run, or of several.

    rivalries: by the names of two drafters, in alphabetical order. widths: by (texts, draft rows of a pass). A round
    whose pass computed a prompt too, or served texts that somebody else decides for, is in none of them: what its
    tokens took cannot be told.
    """

    rounds: int = 0
    draft_rounds: int = 0
    drafters: dict[str, Use] = field(default_factory=dict)
    rivalries: dict[tuple[str, str], Rivalry] = field(default_factory=dict)
    plain: dict[str, Stay] = field(default_factory=dict)
    widths: dict[tuple[int, int], Passes] = field(default_factory=dict)

    @property
    def predicted_speedup(self) -> float | None:
        """Seconds that the expected tokens take plainly over those they were expected to take; None: nothing known."""
        return self._ratio("expected", "expected_seconds")

    @property
    def actual_speedup(self) -> float | None:
        """Seconds that the tokens that came take plainly over those they took; None: nothing known.

        What plain sampling takes is what the run's own plain passes took; it is not measured apart.
        """
        return self._ratio("tokens", "seconds")

    def add(self, other: Explanation) -> None:
        """Another run's, which may go on in another thread."""
        self.rounds += other.rounds
        self.draft_rounds += other.draft_rounds
        for name, use in other.drafters.copy().items():
            self.drafters.setdefault(name, Use()).add(use)
        for pair, rivalry in other.rivalries.copy().items():
            self.rivalries.setdefault(pair, Rivalry()).add(rivalry)
        for why, stay in other.plain.copy().items():
            self.plain.setdefault(why, Stay()).add(stay)
        for width, passes in other.widths.copy().items():
            self.widths.setdefault(width, Passes()).add(passes)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rounds": self.rounds,
            "draft_rounds": self.draft_rounds,
            "predicted_speedup": self.predicted_speedup,
            "actual_speedup": self.actual_speedup,
            "drafters": {
                name: {slot: getattr(use, slot) for slot in use.__slots__} for name, use in self.drafters.items()
            },
            "preferences": [preference(*pair, rivalry) for pair, rivalry in sorted(self.rivalries.items())],
            "plain": [{"why": why, **stay.to_dict()} for why, stay in self.plain.items()],
            "widths": [width(*key, passes) for key, passes in sorted(self.widths.items())],
        }

    def _ratio(self, tokens: str, seconds: str) -> float | None:
        took = sum(getattr(each, seconds) for each in (*self.widths.values(), *self.plain.values()))
        plain = sum(
            getattr(each, tokens) * each.plain_seconds / (each.rounds * texts)
            for (texts, _), each in self.widths.items()
        )
        return plain / took if took and plain else None


def width(texts: int, rows: int, passes: Passes) -> dict[str, Any]:
    """One kind of pass for JSON; passes: plain passes that one is worth with its drafts, expected and measured."""
    return {
        "texts": texts,
        "draft_rows": rows,
        "rounds": passes.rounds,
        "expected_tokens_per_round": passes.expected / passes.rounds,
        "tokens_per_round": passes.tokens / passes.rounds,
        "expected_passes": passes.expected_seconds / passes.plain_seconds,
        "passes": passes.seconds / passes.plain_seconds,
    }


def together(explanations: Iterable[Explanation | None]) -> Explanation | None:
    """Of several runs; None where none has any."""
    found = [each for each in explanations if each is not None]
    if not found:
        return None
    whole = Explanation()
    for each in found:
        whole.add(each)
    return whole
