"""The statistics of a run, from its rounds.

A round that drafted is a step. Steps are counted by how many drafts they kept, the histogram, and draft by draft: the
draft at position i (1 follows the committed text) was tried where those above it were kept and something was drafted
behind them, and it was kept where the round kept i or more. What a tree drafted beside the path it kept is one try.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truedraw.protocol import Round


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts and times of some rounds. The end tokens of a text count as tokens; times are in seconds.

    accepted counts drafts as the rule did, and so do histogram and positions: also those that the stop rules cut off
    behind the end of a text, which are not among its tokens.
    acceptance_rate = accepted / drafted, None where nothing was drafted; tokens_per_round counts the residual or
    bonus token; other_seconds is everything but the engine and the drafter; forced tokens had to come (a grammar), and
    count neither as drafted nor as accepted.

    draft_rounds: rounds that drafted. acceptance_histogram[j]: those of them that kept exactly j drafts, as long as
    most were drafted in one, and one more; so sum(histogram) = draft_rounds and sum(j * histogram[j]) = accepted.
    tried_by_position[i], kept_by_position[i]: of the draft i + 1 tokens behind the text, see above.
    fallbacks: why drafting was given up on the way, in words.
    predicted_speedup, actual_speedup: over plain sampling, as control/explanation.py has them; None where the
    controller keeps no count, in a choice, and in a batch, whose requests share one.
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
    draft_rounds: int = 0
    acceptance_histogram: tuple[int, ...] = ()
    tried_by_position: tuple[int, ...] = ()
    kept_by_position: tuple[int, ...] = ()
    fallbacks: tuple[str, ...] = ()
    predicted_speedup: float | None = None
    actual_speedup: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """By name, for JSON."""
        return asdict(self)


def summary(
    rounds: Iterable[Round],
    seconds: float | None = None,
    engine_seconds: float = 0.0,
    fallbacks: Iterable[str | None] = (),
) -> Stats:
    """Stats of rounds of one or many samples.

    `seconds` is the wall time where it is known better than their sum; `engine_seconds` is added to the rounds' own.
    """
    done = list(rounds)
    steps = [each for each in done if each.drafted]
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
        draft_rounds=len(steps),
        acceptance_histogram=histogram(steps),
        tried_by_position=by_position(map(tried, steps)),
        kept_by_position=by_position((each.accepted for each in steps), max(map(tried, steps), default=0)),
        fallbacks=tuple(filter(None, fallbacks)),
    )


def histogram(steps: Sequence[Round]) -> tuple[int, ...]:
    """Rounds by the number of drafts that each kept."""
    if not steps:
        return ()
    counts = Counter(each.accepted for each in steps)
    return tuple(counts[kept] for kept in range(1 + max(each.drafted for each in steps)))


def tried(step: Round) -> int:
    """How far down drafts were tried: those that were kept, and one more where something was drafted behind them.

    A round says so itself: what ends it is a residual token then. Where the stop rules have cut that off, a chain is
    taken for granted.
    """
    is_whole = len(step.tokens) > step.forced + step.accepted
    behind = step.origins[-1] == "residual" if is_whole else step.drafted > step.accepted
    return step.accepted + behind


def by_position(lengths: Iterable[int], positions: int = 0) -> tuple[int, ...]:
    """How many of the lengths reach position 1, 2, ...; at least so many positions."""
    counts = Counter(lengths)
    last = max(positions, *counts, 0)
    return tuple(sum(n for length, n in counts.items() if length > place) for place in range(last))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
