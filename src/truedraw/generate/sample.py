"""What the loop works on: samples on their way, and who takes part in a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from truedraw import protocol as p
from truedraw.errors import OutOfPages
from truedraw.generate.ending import Ending
from truedraw.generate.trail import Trail

NO_LIMIT = 1 << 30  # more draft tokens than any text has room for


@dataclass(frozen=True, slots=True)
class Parts:
    """The stages of a job that are its own, chosen once."""

    drafter: p.Drafter
    verifier: p.Verifier
    observer: p.Observer | None = None
    asked: p.Drafter | None = None  # who proposes for these and other jobs' texts in one call; None: the drafter itself
    most_drafted: int = NO_LIMIT  # in a round
    method: str = "draft"  # the drafter's name
    controller: p.Controller | None = None  # who decides how much it drafts; None: whoever decides for all
    top_logprobs: int = 0  # likeliest tokens that are told beside each emitted one


@dataclass(slots=True, eq=False)
class Sample:
    """One text on its way: what its next round needs."""

    number: int  # which no two running samples share
    parts: Parts
    law: p.Law
    randomness: p.Randomness
    ending: Ending
    sequence: p.Sequence
    draft: p.DraftState
    trail: Trail | None = None  # of rows that need no pass
    proposal: p.Proposal | None = None  # drawn and not verified yet: once drawn, it is never drawn again
    forced: int = 0  # tokens at the beginning of the proposal that must come
    source: str = ""  # which of the drafters made the rest of it
    draft_seconds: float = 0.0  # its share of the time that took, until a round tells it
    late_seconds: float | None = None  # see Round
    rest: int = 0  # rounds, the present one included, before any of its drafters is thought to be asked
    finish_reason: str | None = None

    def drop_drafts(self) -> bool:
        """Keep only what must come of the proposal, and nothing where that is all of it; False where it is empty, or
        where dropping the rest is not exact: the room that drafts need may depend on what they are, and what was drawn
        must not be chosen by that.
        """
        drawn = self.proposal
        if drawn is None or not len(drawn):
            return False
        if not self.parts.verifier.coupled and any(law is not None for law in drawn.laws):
            return False
        self.forced = self.forced if len(drawn) > self.forced else 0
        self.proposal = drawn.only(np.arange(self.forced))
        return True


@dataclass(slots=True)
class Turn:
    """Who takes part in one pass, and what it took. Where `scores` are there already, no pass is needed."""

    samples: list[Sample]
    fills: list[p.Fill] = field(default_factory=list)
    scores: list[p.Scores] | None = None
    rows: int = 0  # of the pass
    padding: int = 0  # rows that the engine computed beside them
    draft_seconds: float = 0.0  # of what precedes the pass, without what drafters took for one text or another
    engine_seconds: float = 0.0


class Schedule(Protocol):
    """Says who is next, and what is to become of those who cannot go on."""

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for the end of a turn: rounds of a lone text that come at once are no more then."""
        ...

    @property
    def is_read(self) -> bool:
        """Whether somebody reads along: not too much is to come at once then."""
        ...

    def turn(self) -> Turn | None:
        """The next pass; None where every text has ended."""
        ...

    def rescue(self, rounds: Sequence[p.Round]) -> None:
        """An interruption is on its way out, and these rounds of a turn are over."""
        ...

    def hold(self, rounds: Sequence[p.Round]) -> None:
        """They are about to be handed out; where an interruption comes in between they are as if they had been."""
        ...

    def make_room(self, turn: Turn, error: OutOfPages) -> None:
        """The cache has no room for the turn: take something out of it, or raise the error."""
        ...

    def has_room(self, work: p.Work) -> bool:
        """Whether the cache has room for it now."""
        ...

    def failed(self, sample: Sample, error: Exception) -> None:
        """A stage of the sample's job has raised an error: end it, or raise the error."""
        ...


class Together:
    """Schedule of samples that run side by side from the first pass to their ends; whatever goes wrong is raised."""

    is_awaited = is_read = False

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples

    def turn(self) -> Turn | None:
        """Everyone who has not ended."""
        running = [sample for sample in self._samples if sample.finish_reason is None]
        return Turn(running) if running else None

    def rescue(self, rounds: Sequence[p.Round]) -> None:
        """Nobody is left to have them."""

    def hold(self, rounds: Sequence[p.Round]) -> None:
        """Nobody is left to have them."""

    def make_room(self, turn: Turn, error: OutOfPages) -> None:
        """Nobody can wait."""
        raise error

    def has_room(self, work: p.Work) -> bool:
        """Taken for granted."""
        return True

    def failed(self, sample: Sample, error: Exception) -> None:
        """The run is over."""
        raise error
