"""Proposals for those whose turn it is: what must come, what drafters offer, and what the controller takes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from truedraw.draft.joining import join, widest
from truedraw.errors import BadInput, BadProposal
from truedraw.generate.certain import Tokens, forced_tokens
from truedraw.generate.guess import Guess, Order, fresh_guesses, room_of
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.handlers import pass_on
from truedraw.protocol import NOTHING, Choice, Controller, Drafter, Work
from truedraw.sampling.values import shown
from truedraw.sampling.working_time import working_seconds

Begins = Callable[[Sequence[Guess], Sequence[Choice]], bool]
"""Whether somebody else goes on from what was decided for some texts."""


def never(_guesses: Sequence[Guess], _choices: Sequence[Choice]) -> bool:
    """Whatever was decided."""
    return False


def guess(controller: Controller, schedule: Schedule, turn: Turn, begins: Begins = never) -> float:
    """Give every sample a proposal that has none, unless its rounds begin otherwise. Those whose drafter fails leave
    the turn.

    Returns the seconds that drafters took for these proposals, which the samples themselves tell.
    """
    fresh = [sample for sample in turn.samples if sample.proposal is None]
    certain = must_come(fresh)
    for judge, group in grouped(fresh, controller):
        asked = awake(judge, group, certain)
        guesses = list(fresh_guesses(schedule, asked, certain))
        if guesses and Guessing(judge, schedule, guesses).run(begins):
            return 0.0
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


def awake(controller: Controller, samples: Sequence[Sample], certain: Mapping[Sample, Tokens]) -> Sequence[Sample]:
    """Those who are to be asked in this round; of the others what must come is all that is proposed."""
    rest = getattr(controller, "rest", None)  # protocol.Rests: an instance check takes longer
    rounds = [0] * len(samples) if rest is None else rest([sample.number for sample in samples])
    check_rests(rounds, samples)
    for sample, rests in zip(samples, rounds, strict=True):
        sample.rest = rests
        if rests:
            sample.proposal, sample.forced = join(certain[sample], NOTHING), len(certain[sample])
            sample.source, sample.draft_seconds, sample.late_seconds = "", 0.0, None
    return [sample for sample in samples if not sample.rest]


def check_rests(rounds: Sequence[int], samples: Sequence[Sample]) -> None:
    """Raises BadInput unless a controller has named the rounds of each."""
    if not isinstance(rounds, Sequence) or len(rounds) != len(samples):
        raise BadInput(
            f"a controller's rest() gave {shown(rounds)} for {len(samples)} samples; give the rounds of each, 0 "
            "for one that is asked (protocol.Rests)"
        )


class Guessing:
    """One controller's samples: offers are made, weighed, and taken."""

    def __init__(self, controller: Controller, schedule: Schedule, guesses: Sequence[Guess]) -> None:
        self._controller, self._schedule, self._guesses = controller, schedule, guesses
        self._seconds: dict[str, float] = {}

    def run(self, begins: Begins) -> bool:
        """Every sample whose drafters do not fail has a proposal then; True: none, for rounds begin otherwise."""
        askers = [each.asker for each in self._guesses]
        budgets = self._controller.budget(askers)
        wishes = zip(self._guesses, budgets, strict=True)
        self._draft([Order(each, name, tokens) for each, wish in wishes for name, tokens in wish.items()])
        choices = self._controller.choose(askers, [each.offers for each in self._guesses], dict(self._seconds))
        if self._may_begin(choices) and begins(self._guesses, choices):
            return True
        choices = self._asked_late(choices)
        for each, choice in zip(self._guesses, choices, strict=True):
            if not each.failed:
                settle(each, choice)
        return False

    def _may_begin(self, choices: Sequence[Choice]) -> bool:
        """Whether what was decided is drafts for some of them, that all can be drafted."""
        orders = [Order(each, choice.source, choice.tokens)
                  for each, choice in zip(self._guesses, choices, strict=True)]  # fmt: skip
        able = [not each.guess.failed and (not each.tokens or self._has_room(each)) for each in orders]
        return max([each.tokens for each in orders]) > 0 and False not in able

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
            pass_on(error)
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
