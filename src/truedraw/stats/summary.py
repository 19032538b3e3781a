"""The statistics of a run, from its rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from truedraw.protocol import Round


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts and times of some rounds. The end tokens of a text count as tokens; times are in seconds.

    acceptance_rate = accepted / drafted, None where nothing was drafted; tokens_per_round counts the residual or
    bonus token; other_seconds is everything but the engine and the drafter; forced tokens had to come (a grammar), and
    count neither as drafted nor as accepted.
    """

    rounds: int
    drafted: int
    accepted: int
    acceptance_rate: float | None
    tokens_per_round: float | None
    tokens: int
    seconds: float
    tokens_per_second: float | None
    engine_seconds: float
    draft_seconds: float
    other_seconds: float
    forced: int = 0

    def to_dict(self) -> dict[str, int | float | None]:
        """By name, for JSON."""
        return asdict(self)


def summary(rounds: Iterable[Round], seconds: float | None = None, engine_seconds: float = 0.0) -> Stats:
    """Stats of rounds of one or many samples.

    `seconds` is the wall time where it is known better than their sum; `engine_seconds` is added to the rounds' own.
    """
    done = list(rounds)
    tokens, drafted = sum(len(r.tokens) for r in done), sum(r.drafted for r in done)
    accepted = sum(r.accepted for r in done)
    engine, draft = engine_seconds + sum(r.engine_seconds for r in done), sum(r.draft_seconds for r in done)
    total = sum(r.seconds for r in done) if seconds is None else seconds
    return Stats(
        rounds=len(done),
        drafted=drafted,
        accepted=accepted,
        acceptance_rate=_ratio(accepted, drafted),
        tokens_per_round=_ratio(tokens, len(done)),
        tokens=tokens,
        seconds=total,
        tokens_per_second=_ratio(tokens, total),
        engine_seconds=engine,
        draft_seconds=draft,
        other_seconds=max(total - engine - draft, 0.0),
        forced=sum(r.forced for r in done),
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
