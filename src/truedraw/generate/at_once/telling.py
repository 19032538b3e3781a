"""What is done for texts behind the rounds that they were run for abreast: they go on, and all hear of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from truedraw import protocol as p
from truedraw.generate.at_once.plan import Deciding, ask
from truedraw.generate.at_once.side import Ran, Side, Times
from truedraw.generate.guesses import grouped
from truedraw.generate.sample import Schedule
from truedraw.handlers import is_mistake
from truedraw.sampling.working_time import working_seconds


class Way(Protocol):
    """How rounds were run: plainly.py, drafted.py."""

    @property
    def sides(self) -> Sequence[Side]:
        """The texts."""
        ...

    def enter(self, side: Side, number: int) -> None:
        """A round of one of them."""
        ...

    def dozes(self, side: Side, rest: int) -> bool:
        """Whether the drafters of one of them may, that rests for so many rounds from the last one on."""
        ...

    def hear(self, side: Side, ran: Ran, *, dozing: bool) -> None:
        """The drafters of one of them hear of its rounds."""
        ...


class Telling:
    """Of one loop."""

    def __init__(self, controller: p.Controller, schedule: Schedule) -> None:
        self._controller, self._schedule = controller, schedule

    def over(
        self, way: Way, passes: p.Abreast, ran: Ran, since: float, decided: Sequence[Deciding] = ()
    ) -> list[p.Round]:
        """The texts go on, and all hear of it; an interruption leaves what is over to the schedule.

        decided: of each text what it took within the first round, where that was decided just now.
        """
        done: list[p.Round] = []
        try:
            self._enter(way, ran)
            passes.end([side.tokens for side in way.sides])
            self._tell(way, ran, since, done, decided)
        except BaseException as error:
            if not is_mistake(error):
                self._schedule.rescue(done + untold(way.sides, ran, done))
            raise
        return done

    def _enter(self, way: Way, ran: Ran) -> None:
        """All rounds of all texts; whatever a part of a job raises concerns that job."""
        for side in way.sides:
            self._apart(side, partial(entered, way, side, len(ran.times)))

    def _apart(self, side: Side, act: partial[None]) -> None:
        try:
            act()
        except BaseException as error:
            if not is_mistake(error):
                raise
            self._schedule.failed(side.sample, error)

    def _tell(self, way: Way, ran: Ran, since: float, done: list[p.Round], decided: Sequence[Deciding]) -> None:
        """Of rounds in their order, each with its share of what was done for all since the turn came; what it took to
        decide is the first one's."""
        known = sum(times.whole for times in ran.times) + sum(each.seconds for each in decided)
        own = working_seconds() - since - known
        more = own / max(1, sum(len(side.found) for side in way.sides))
        for number, times in enumerate(ran.times):
            start = working_seconds()
            present = [side for side in way.sides if len(side.found) > number]
            if not present:
                break
            asked = () if number else decided
            dozing = {side.place: way.dozes(side, 0) for side in present} if asked else self._ask(way, present)
            for side in present:
                if len(side.found) == number + 1:  # its last one
                    dozes = number + 1 < len(ran.times) or dozing[side.place]
                    self._apart(side, partial(way.hear, side, ran, dozing=dozes))
            whole = times.whole + working_seconds() - start - sum(side.drafting(times) for side in present)
            shared = more + whole / len(present)
            told = [side.round(number, times, shared, ran, len(present)) for side in present]
            if asked:
                told = [with_deciding(each, asked[side.place]) for side, each in zip(present, told, strict=True)]
            done += told
            self._controller.observe(told)

    def _ask(self, way: Way, present: Sequence[Side]) -> dict[int, bool]:
        """Controllers hear of a round as if it were now; whether what drafts a text may doze in it, by its place."""
        found: dict[int, bool] = {}
        sides = {side.sample.number: side for side in present}
        whole = {judge: len(own) for judge, own in grouped([side.sample for side in way.sides], self._controller)}
        for judge, samples in grouped([side.sample for side in present], self._controller):
            own = [sides[sample.number] for sample in samples]
            askers = {side.sample.number: None if side.guess is None else side.guess.asker for side in own}
            rests = ask(judge, askers, are_all=len(own) == whole[judge])
            found |= {side.place: way.dozes(side, rest) for side, rest in zip(own, rests, strict=True)}
        return found


def with_deciding(done: p.Round, took: Deciding) -> p.Round:
    """The first round of a text bears its part of what it took to decide."""
    return replace(done, seconds=done.seconds + took.seconds, draft_seconds=done.draft_seconds + took.draft_seconds)


def untold(sides: Sequence[Side], ran: Ran, done: Sequence[p.Round]) -> list[p.Round]:
    """Rounds that are not among those that were told; nobody times them any more."""
    told, times = Counter(each.sample for each in done), Times(0.0, 0.0, [0.0] * len(sides))
    return [side.round(number, times, 0.0, ran, 1)
            for side in sides for number in range(told[side.sample.number], len(side.found))]  # fmt: skip


def entered(way: Way, side: Side, rounds: int) -> None:
    """So many rounds of a text, as far as it goes on."""
    for number in range(rounds):
        if side.sample.finish_reason is None:
            way.enter(side, number)
