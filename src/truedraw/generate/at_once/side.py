"""One of several texts whose rounds were run abreast, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw import protocol as p
from truedraw.draft.behind import law_after
from truedraw.generate.at_once.hearing import Hearers
from truedraw.generate.at_once.machine import judged
from truedraw.generate.at_once.machines import is_known
from truedraw.generate.at_once.plan import is_simple
from truedraw.generate.guess import Guess
from truedraw.generate.judging import Judged, Spent, round_of
from truedraw.generate.sample import Sample
from truedraw.verify.fused.judge import Decided


class Times(NamedTuple):
    """What a round took, in seconds: its pass, all of it, the drafts of each text, its part of a call for several, and
    that call."""

    engine: float
    whole: float
    drafts: Sequence[float] = ()
    calls: Sequence[float] = ()


class Ran(NamedTuple):
    """What compiled code has left: of each round what it took, and hidden states [rounds, rows, streams, width], where
    anybody wants them; of the last one logits and hidden states; where the rows of each text begin, and end; and
    whether no round was begun behind them."""

    times: Sequence[Times]
    shown: NDArray[np.float32]
    logits: p.Logits
    hidden: NDArray[np.float32] | None
    begins: Sequence[int]
    is_last: bool = True


@dataclass(slots=True, eq=False)
class Side:
    """One of the texts, number so-and-so of them, and its rounds."""

    place: int
    sample: Sample
    hearers: Hearers
    guess: Guess | None = None  # where some of them draft
    source: str = ""  # of its drafts
    late: bool = False  # whether that was decided by name
    found: list[tuple[p.Proposal, Judged]] = field(default_factory=list)

    @property
    def tokens(self) -> list[int]:
        """That its text does not have yet."""
        return [token for _, each in self.found for token in each.tokens]

    def enter(self, found: Decided, proposal: p.Proposal = p.NOTHING) -> None:
        """A round that came, as far as the text goes on."""
        sample = self.sample
        kept, sample.finish_reason = sample.ending.cut(found.verdict.tokens)
        self.found.append((proposal, judged(found, kept, sample.finish_reason)))
        sample.law = law_after(sample.law, kept)

    def round(self, number: int, times: Times, shared: float, ran: Ran, texts: int) -> p.Round:
        """One of them, as it is told: of so many texts that share its pass, and whose part of all else is `shared`."""
        proposal, found = self.found[number]
        draft = self.drafting(times)
        late = draft if self.late else None
        spent = Spent(draft, late, times.engine / texts, draft + shared, ran.begins[-1])
        return round_of(self.sample, proposal, found, spent, source=self.source)

    def drafting(self, times: Times) -> float:
        """Seconds of its own drafts in a round."""
        return times.drafts[self.place] if self.source else 0.0


def suits(sample: Sample) -> bool:
    """Whether compiled code knows its law, its rule and its noise, and nobody looks on."""
    return is_known(sample) and is_simple(sample)


def edits(sample: Sample) -> bool:
    """Whether the law of one that suits edits logits."""
    law: Any = sample.law
    return law.edits() is not None
