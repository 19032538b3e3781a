"""Proposals for those whose turn it is: what must come, what drafters offer, and what the controller takes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from truedraw.draft.behind import look_ahead
from truedraw.draft.chances import OwnChance
from truedraw.draft.joining import join
from truedraw.draft.several import Source, sources_of, state_of
from truedraw.draft.site import worths_of
from truedraw.errors import BadProposal
from truedraw.generate.certain import Tokens, forced_tokens
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.protocol import (
    NOTHING,
    ROOT,
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

    def chance(self, source: str) -> Randomness:
        """The randomness of one of the drafters: no two of them can name the same draw."""
        randomness, names = self.sample.randomness, tuple(self.sources)
        return randomness if len(names) < 2 else OwnChance(randomness, names.index(source), len(names))


class Order(NamedTuple):
    """What a drafter is to be asked for."""

    guess: Guess
    source: str
    tokens: int


def guess(controller: Controller, schedule: Schedule, turn: Turn) -> None:
    """Give every sample a proposal that has none; those whose drafter fails leave the turn."""
    fresh = [sample for sample in turn.samples if sample.proposal is None]
    groups: dict[Controller, list[Guess]] = {}
    for each in begun(schedule, fresh) if fresh else ():
        groups.setdefault(each.sample.parts.controller or controller, []).append(each)
    for judge, group in groups.items():
        Guessing(judge, schedule, group).run()
    turn.samples = [sample for sample in turn.samples if sample.proposal is not None]


def begun(schedule: Schedule, samples: Sequence[Sample]) -> Iterator[Guess]:
    """What must come next in each text, and how much may be drafted behind it."""
    rooms = [sample.ending.room - 1 for sample in samples]
    certain = forced_tokens([sample.law for sample in samples], rooms)
    for sample, room, tokens in zip(samples, rooms, certain, strict=True):
        try:
            yield _begun(sample, room, tokens)
        except Exception as error:  # a plug-in's drafter may raise anything
            schedule.failed(sample, error)


def _begun(sample: Sample, room: int, certain: Tokens) -> Guess:
    state = look_ahead(sample.draft, certain)
    room = 0 if state is None else min(sample.parts.most_drafted, room - len(certain))
    sample.draft_seconds = 0.0
    sources = sources_of(sample.parts.drafter, sample.parts.asked, sample.parts.method)
    able = [name for name, source in sources.items()
            if state_of(state, name) is not None and getattr(source.drafter, "fault", None) is None
            ] if state is not None and room > 0 else []  # fmt: skip
    worths = {name: worth for name in able if (worth := _worths(sources[name].drafter, room)) is not None}
    asker = Asker(sample.number, max(room, 0), tuple(able), worths, sample.parts.verifier.coupled)
    return Guess(sample, certain, asker, state, sources)


def _worths(drafter: Drafter, room: int) -> Sequence[tuple[float, int]] | None:
    worths = worths_of(drafter)
    return None if worths is None else worths(room)


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
        late = [each for each in zip(self._guesses, choices, strict=True) if each[1].tokens]
        self._draft([Order(each, choice.source, choice.tokens) for each, choice in late])
        for each, choice in zip(self._guesses, choices, strict=True):
            if not each.failed:
                settle(each, choice)

    def _draft(self, orders: Sequence[Order]) -> None:
        """One call for each drafter, whatever the jobs call it."""
        groups: dict[int, tuple[Drafter, list[Order]]] = {}
        for order in filter(self._has_room, orders):
            asked = order.guess.sources[order.source].asked
            groups.setdefault(id(asked), (asked, []))[1].append(order)
        for asked, group in groups.values():
            start = working_seconds()
            self._propose(asked, group)
            share = (working_seconds() - start) / len(group)
            for order in group:
                self._seconds[order.source] = self._seconds.get(order.source, 0.0) + share
                order.guess.sample.draft_seconds += share

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


def widest(certain: int, drafts: int) -> Proposal:
    """Needs at least the room of any proposal of as many nodes: it has as many leaves as they, each as deep as any."""
    depth = certain + drafts
    parents = np.concatenate((np.arange(ROOT, depth - 1), np.full(drafts - 1, depth - 2)))
    return Proposal(np.zeros(len(parents), np.int64), parents, (None,) * len(parents))


def settle(each: Guess, choice: Choice) -> None:
    """The sample's proposal is what it got, behind what must come."""
    taken = each.offers.get(choice.source, NOTHING)
    if choice.nodes is not None:
        if len(choice.nodes) < len(taken) and any(law is not None for law in taken.laws):
            raise BadProposal("a controller cut a proposal that was drawn from laws; it is to be taken whole")
        taken = taken.only(choice.nodes)
    each.sample.proposal, each.sample.forced = join(each.certain, taken), len(each.certain)
    each.sample.source = choice.source
