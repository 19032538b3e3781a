"""One sample's proposal while it is made: what its drafters know, and how much they may be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeGuard

from truedraw.draft.behind import look_ahead
from truedraw.draft.chances import OwnChance
from truedraw.draft.several import Source, sources_of, state_of
from truedraw.draft.site import worths_of
from truedraw.generate.certain import Tokens
from truedraw.generate.guarded_drafter import GuardedState
from truedraw.generate.sample import Sample, Schedule
from truedraw.handlers import pass_on
from truedraw.protocol import NOTHING, Asker, DraftState, Proposal, Randomness

Worths = Sequence[tuple[float, int]]
MOST_TOLD = 15  # nodes of which it is asked: about as many as a text is ever given


@dataclass(slots=True, eq=False)
class Guess:
    """A sample's proposal while it is made."""

    sample: Sample
    certain: Tokens  # which must come before the drafts
    asker: Asker
    state: DraftState | None  # behind them; None where the drafters cannot look there
    sources: Mapping[str, Source]
    offers: dict[str, Proposal] = field(default_factory=dict)
    failed: bool = False

    def state_of(self, source: str) -> DraftState | None:
        """What one of the drafters knows."""
        return None if self.state is None else state_of(self.state, source)

    def lacks(self, source: str) -> bool:
        """Whether that one was asked and has nothing."""
        return not self.failed and not len(self.offers.get(source, NOTHING))

    def chance(self, source: str) -> Randomness:
        """The randomness of one of the drafters: no two of them can name the same draw."""
        randomness, names = self.sample.randomness, tuple(self.sources)
        return randomness if len(names) < 2 else OwnChance(randomness, names.index(source), len(names))


class Order(NamedTuple):
    """What a drafter is to be asked for."""

    guess: Guess
    source: str
    tokens: int


def fresh_guesses(schedule: Schedule, samples: Sequence[Sample], certain: Mapping[Sample, Tokens]) -> Iterator[Guess]:
    """One a text: how much may be drafted in it behind what must come."""
    for sample in samples:
        try:
            yield _fresh_guess(sample, room_of(sample), certain[sample])
        except Exception as error:  # a plug-in's drafter may raise anything
            pass_on(error)
            schedule.failed(sample, error)


def _fresh_guess(sample: Sample, room: int, certain: Tokens) -> Guess:
    state = look_ahead(sample.draft, certain)
    room = 0 if state is None else min(sample.parts.most_drafted, room - len(certain))
    sample.draft_seconds, sample.late_seconds = 0.0, None
    sources = sources_of(sample.parts.drafter, sample.parts.asked, sample.parts.method)
    able = {name: own for name, source in sources.items()
            if stands(own := state_of(state, name)) and getattr(source.drafter, "fault", None) is None
            } if state is not None and room > 0 else {}  # fmt: skip
    told = Told(able, min(room, MOST_TOLD))
    coupled, length = sample.parts.verifier.coupled, len(sample.sequence.tokens)
    asker = Asker(sample.number, max(room, 0), tuple(able), told, coupled, length)
    return Guess(sample, certain, asker, state, sources)


def stands(state: DraftState | None) -> TypeGuard[DraftState]:
    """Whether there is a state, and not only a guard where there was one."""
    return state is not None and not (isinstance(state, GuardedState) and state.inner is None)


class Told(Mapping[str, Worths]):
    """What drafters say that their next trees in a text are worth, of those who can tell; asked when it is read.

    Where a decision stands nobody reads it.
    """

    def __init__(self, states: Mapping[str, DraftState], nodes: int) -> None:
        self._states, self._nodes = states, nodes

    def __getitem__(self, source: str) -> Worths:
        """Raises KeyError for one that cannot tell."""
        worths = worths_of(self._states[source])
        found = None if worths is None else worths(self._nodes)
        if found is None:
            raise KeyError(source)
        return found

    def __iter__(self) -> Iterator[str]:
        """Those who can tell."""
        return (source for source in self._states if self.get(source) is not None)

    def __len__(self) -> int:
        """How many can."""
        return sum(1 for _ in self)


def room_of(sample: Sample) -> int:
    """Tokens before the last one of the text."""
    return sample.ending.room - 1
