"""What is settled for rounds of a text that is alone, before the first of them begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from truedraw import protocol as p
from truedraw.draft.several import SeveralStates
from truedraw.draft.site import hear
from truedraw.generate.guess import Guess
from truedraw.generate.judging import Judged, Spent
from truedraw.generate.sample import Sample, Schedule
from truedraw.sampling.transform import counted

LONGEST, READ = 0.1, 0.04  # seconds of rounds at once: somebody may wait; where somebody reads along


class Deciding(NamedTuple):
    """What it took in the first of the rounds for which it was decided: all of it, and who drafted to be weighed."""

    seconds: float
    draft_seconds: float


class Plan(NamedTuple):
    """Of rounds to come."""

    guess: Guess
    judge: p.Controller
    stand: p.Stand
    source: str
    stride: p.Stride
    rounds: int
    length: int  # of the text before them
    began: float  # to be made
    decided: Deciding | None = None  # within the first of them; None: before

    def drafted(self) -> p.Proposal:
        """What its drafter proposes for the next one."""
        if not self.stand.tokens:
            return p.NOTHING
        asked, state = self.guess.sources[self.source].asked, self.guess.state_of(self.source)
        assert state is not None
        return asked.propose([state], [self.stand.tokens], [self.guess.chance(self.source)])[0]

    def is_over(self, number: int) -> bool:
        """Whether no round number so-and-so of these can follow those before it, whatever time it is."""
        return number == self.rounds or not may_go_on(self.guess.sample, self.stand.tokens)

    def heard(self, number: int, tokens: tuple[int, ...], scores: p.Scores) -> None:
        """Round number so-and-so of these has ended with these tokens. Who is not asked in the next one may doze."""
        state = self.guess.sample.draft
        if self.source and not self.is_over(number + 1) and isinstance(state, SeveralStates):
            state.follow(tokens, scores, self.source)
        else:
            hear(state, tokens, scores, dozing=self.stand.rest - number > 1)

    def dozes(self, number: int) -> bool:
        """Whether who may doze does, but for who drafts, behind round number so-and-so."""
        return (bool(self.source) and not self.is_over(number + 1)) or self.stand.rest - number > 1


class Ran(NamedTuple):
    """A round that nobody has been told of."""

    proposal: p.Proposal
    found: Judged
    spent: Spent


def is_simple(sample: Sample) -> bool:
    """Whether a round of it is nothing but a pass under one law, and nobody looks on."""
    parts = sample.parts
    is_watched = parts.observer is not None or parts.top_logprobs > 0 or sample.trail is not None
    return sample.proposal is None and counted(sample.law) is not None and not is_watched


def stands_of(judge: p.Controller, samples: Sequence[Sample]) -> Sequence[p.Stand] | None:
    """What is decided for them; None where something is not, or more than a round of one may draft."""
    stands = getattr(judge, "stands", None)  # protocol.Stands
    found: Sequence[p.Stand] | None = None if stands is None else stands([sample.number for sample in samples])
    if found is None:
        return None
    able = (stand.tokens <= sample.parts.most_drafted for stand, sample in zip(found, samples, strict=True))
    return found if all(able) else None


def stand_of(judge: p.Controller, sample: Sample) -> p.Stand | None:
    """The same of one."""
    found = stands_of(judge, [sample])
    return None if found is None else found[0]


def stands_behind(judge: p.Controller, guesses: Sequence[Guess], choices: Sequence[p.Choice]) -> list[p.Stand] | None:
    """What was just decided for these, for one round more than it stands from here on; None where it does not stand, or
    more belongs to it than drafts."""
    behind = stands_of(judge, [guess.sample for guess in guesses])
    simple = [not guess.certain and not choice.then for guess, choice in zip(guesses, choices, strict=True)]
    decided = [(choice.source, choice.tokens) for choice in choices]
    if behind is None or False in simple or decided != [(stand.source, stand.tokens) for stand in behind]:
        return None
    return [p.Stand(1 + stand.rounds, stand.source, stand.tokens) for stand in behind]


def num_rounds(most: int, samples: Sequence[Sample], stands: Sequence[p.Stand]) -> int:
    """How many may follow one another: as many as stand for each, if all that is drafted could be kept in one, and as a
    text has room for if nothing is in any."""
    fit = all(may_go_on(sample, stand.tokens) for sample, stand in zip(samples, stands, strict=True))
    rooms = (sample.ending.room for sample in samples)
    return min(most, *(stand.rounds for stand in stands), *rooms) if fit else 0


def may_go_on(sample: Sample, drafts: int) -> bool:
    """Whether a text has room for a round more, with so many drafts."""
    return sample.finish_reason is None and sample.ending.room > drafts


def most_tokens(sample: Sample, rounds: int, drafts: int) -> int:
    """That so many rounds, with so many drafts each, can bring it."""
    return min(rounds * (1 + drafts), sample.ending.room)


def longest(schedule: Schedule) -> float:
    """Seconds, beside what it took to decide, behind which no more rounds begin."""
    return READ if schedule.is_read else LONGEST


def source_of(guess: Guess, stand: p.Stand) -> str | None:
    """Who drafts, "" for nobody; None where that has to be found out."""
    if not stand.tokens:
        return ""
    if stand.source:
        return stand.source if stand.source in guess.asker.sources else None
    return guess.asker.sources[0] if len(guess.asker.sources) == 1 else None


def ask(judge: Any, askers: Mapping[int, p.Asker | None], *, are_all: bool = True) -> Sequence[int]:
    """A controller is asked what it has said beforehand, so that it counts the round, and told the same: how long these
    samples rest. For fewer texts than those it decided for it would decide anew; so it is as if who was to be asked had
    failed.
    """
    rest = getattr(judge, "rest", None)  # protocol.Rests
    rests: Sequence[int] = [0] * len(askers) if rest is None else rest([*askers])
    awake = [asker for asker, rounds in zip(askers.values(), rests, strict=True) if asker is not None and not rounds]
    if awake and are_all:
        judge.budget(awake)
        judge.choose(awake, [{} for _ in awake], {})
    return rests
