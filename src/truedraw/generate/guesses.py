"""Proposals for those whose turn it is: what must come, what drafters offer, and what the controller takes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeGuard

from truedraw.draft.behind import look_ahead
from truedraw.draft.chances import OwnChance
from truedraw.draft.joining import join, widest
from truedraw.draft.several import Source, sources_of, state_of
from truedraw.draft.site import worths_of
from truedraw.errors import BadProposal
from truedraw.generate.certain import Tokens, forced_tokens
from truedraw.generate.guarded_drafter import GuardedState
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.protocol import (
    NOTHING,
    Asker,
    Choice,
    Controller,
    Drafter,
    DraftState,
    Proposal,
    Randomness,
    Work,
)
from truedraw.sampling.working_time import working_seconds

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


def guess(controller: Controller, schedule: Schedule, turn: Turn) -> float:
    """Give every sample a proposal that has none; those whose drafter fails leave the turn.

    Returns the seconds that drafters took for these proposals, which the samples themselves tell.
    """
    fresh = [sample for sample in turn.samples if sample.proposal is None]
    certain = must_come(fresh)
    for judge, group in grouped(fresh, controller):
        if rests(judge, group, certain):
            continue
        if guesses := list(begun(schedule, group, certain)):
            Guessing(judge, schedule, guesses).run()
    turn.samples = [sample for sample in turn.samples if sample.proposal is not None]
    return sum(sample.draft_seconds for sample in fresh if sample.proposal is not None)


def grouped(samples: Sequence[Sample], usual: Controller) -> Iterable[tuple[Controller, Sequence[Sample]]]:
    """Those who are judged by one controller: mostly all of them."""
    judges = [sample.parts.controller or usual for sample in samples]
    if len({*map(id, judges)}) == 1:
        return [(judges[0], samples)]
    groups: dict[Controller, list[Sample]] = {}
    for sample, judge in zip(samples, judges, strict=True):
        groups.setdefault(judge, []).append(sample)
    return groups.items()


def must_come(samples: Sequence[Sample]) -> dict[Sample, Tokens]:
    """Next in each text."""
    if not samples:
        return {}
    found = forced_tokens([sample.law for sample in samples], [room_of(sample) for sample in samples])
    return dict(zip(samples, found, strict=True))


def room_of(sample: Sample) -> int:
    """Tokens before the last one of the text."""
    return sample.ending.room - 1


def rests(controller: Controller, samples: Sequence[Sample], certain: Mapping[Sample, Tokens]) -> bool:
    """Whether nobody is to be asked in this round: then what must come is all that is proposed."""
    rest = getattr(controller, "rest", None)  # protocol.Rests: an instance check takes longer
    rounds = 0 if rest is None else rest([sample.number for sample in samples])
    for sample in samples:
        sample.rest = rounds
        if rounds:
            sample.proposal, sample.forced = join(certain[sample], NOTHING), len(certain[sample])
            sample.source, sample.draft_seconds, sample.late_seconds = "", 0.0, None
    return rounds > 0


def begun(schedule: Schedule, samples: Sequence[Sample], certain: Mapping[Sample, Tokens]) -> Iterator[Guess]:
    """How much may be drafted in each text behind what must come."""
    for sample in samples:
        try:
            yield _begun(sample, room_of(sample), certain[sample])
        except Exception as error:  # a plug-in's drafter may raise anything
            schedule.failed(sample, error)


def _begun(sample: Sample, room: int, certain: Tokens) -> Guess:
    state = look_ahead(sample.draft, certain)
    room = 0 if state is None else min(sample.parts.most_drafted, room - len(certain))
    sample.draft_seconds, sample.late_seconds = 0.0, None
    sources = sources_of(sample.parts.drafter, sample.parts.asked, sample.parts.method)
    able = {name: own for name, source in sources.items()
            if stands(own := state_of(state, name)) and getattr(source.drafter, "fault", None) is None
            } if state is not None and room > 0 else {}  # fmt: skip
    told = Told(able, min(room, MOST_TOLD))
    asker = Asker(sample.number, max(room, 0), tuple(able), told, sample.parts.verifier.coupled)
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


class Guessing:
    """One controller's samples: offers are made, weighed, and taken."""

    def __init__(self, controller: Controller, schedule: Schedule, guesses: Sequence[Guess]) -> None:
        self._controller, self._schedule, self._guesses = controller, schedule, guesses
        self._seconds: dict[str, float] = {}

    def run(self) -> None:
        """Every sample whose drafters do not fail has a proposal then."""
        askers = [each.asker for each in self._guesses]
        budgets = self._controller.budget(askers)
        wishes = zip(self._guesses, budgets, strict=True)
        self._draft([Order(each, name, tokens) for each, wish in wishes for name, tokens in wish.items()])
        choices = self._controller.choose(askers, [each.offers for each in self._guesses], dict(self._seconds))
        choices = self._asked_late(choices)
        for each, choice in zip(self._guesses, choices, strict=True):
            if not each.failed:
                settle(each, choice)

    def _asked_late(self, choices: Sequence[Choice]) -> list[Choice]:
        """The choices, of those who name several sources with the first that has something, or the last."""
        found = list(choices)
        late = [place for place, choice in enumerate(found) if choice.tokens]
        while late:
            orders = [Order(self._guesses[place], found[place].source, found[place].tokens) for place in late]
            for order, seconds in self._draft(orders):
                sample = order.guess.sample
                sample.late_seconds = (sample.late_seconds or 0.0) + seconds
            late = [place for place in late if found[place].then and self._guesses[place].lacks(found[place].source)]
            for place in late:
                found[place] = replace(found[place], source=found[place].then[0], then=found[place].then[1:])
        return found

    def _draft(self, orders: Sequence[Order]) -> list[tuple[Order, float]]:
        """One call for each drafter, whatever the jobs call it; those that there was room for, and what each took."""
        groups: dict[int, tuple[Drafter, list[Order]]] = {}
        for order in filter(self._has_room, orders):
            asked = order.guess.sources[order.source].asked
            groups.setdefault(id(asked), (asked, []))[1].append(order)
        done: list[tuple[Order, float]] = []
        for asked, group in groups.values():
            start = working_seconds()
            self._propose(asked, group)
            share = (working_seconds() - start) / len(group)
            for order in group:
                self._seconds[order.source] = self._seconds.get(order.source, 0.0) + share
                order.guess.sample.draft_seconds += share
                done.append((order, share))
        return done

    def _has_room(self, order: Order) -> bool:
        """Whatever its drafts will be: none that were drawn may be dropped for want of room, see Sample.drop_drafts.

        Under a coupled rule no draft changes a text, and all may be.
        """
        sample, tokens = order.guess.sample, min(order.tokens, order.guess.asker.room)
        if sample.parts.verifier.coupled or tokens < 1:
            return True
        return self._schedule.has_room(Work(sample.sequence, widest(len(order.guess.certain), tokens)))

    def _propose(self, asked: Drafter, group: Sequence[Order]) -> None:
        able = [(order, state) for order in group if (state := order.guess.state_of(order.source)) is not None]
        budgets = [order.tokens for order, _ in able]
        chances = [order.guess.chance(order.source) for order, _ in able]
        try:
            proposals = asked.propose([state for _, state in able], budgets, chances)
            for (order, _), proposal in zip(able, proposals, strict=True):
                order.guess.offers[order.source] = proposal
        except Exception as error:  # a plug-in's drafter may raise anything
            for order, _ in able:
                order.guess.failed = True
                self._schedule.failed(order.guess.sample, error)


def settle(each: Guess, choice: Choice) -> None:
    """The sample's proposal is what it got, behind what must come."""
    taken = each.offers.get(choice.source, NOTHING)
    if choice.nodes is not None:
        if len(choice.nodes) < len(taken) and any(law is not None for law in taken.laws):
            raise BadProposal("a controller cut a proposal that was drawn from laws; it is to be taken whole")
        taken = taken.only(choice.nodes)
    each.sample.proposal, each.sample.forced = join(each.certain, taken), len(each.certain)
    each.sample.source = choice.source
