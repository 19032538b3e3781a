"""Rounds of several texts, a few at once, while what was decided for all of them stands: by compiled code, and what
Python does for them behind it, met once and not anew behind each pass.

They are the rounds that Python would have run, by the same laws and the same noise. Where one of the texts is not for
compiled code, or it finds no token, all are left to Python.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from truedraw import protocol as p
from truedraw.generate.at_once.drafted import Drafted, Drawn
from truedraw.generate.at_once.machine import MOST
from truedraw.generate.at_once.machines import HAS_CLOCK
from truedraw.generate.at_once.plainly import Plainly
from truedraw.generate.at_once.plan import source_of
from truedraw.generate.at_once.side import Ran, Side, Times, suits
from truedraw.generate.guess import fresh_guesses
from truedraw.generate.means import Means
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.handlers import is_mistake
from truedraw.sampling.working_time import working_seconds

LONGEST = 0.04  # seconds behind which no more rounds begin: somebody may wait, or read
NEVER = -1  # in the place of a token
NOW = Times(0.0, 0.0)  # of rounds that nobody times any more


class Abreast:
    """Of one loop."""

    def __init__(self, engine: p.Engine, controller: p.Controller, schedule: Schedule, means: Means) -> None:
        self._open = getattr(engine, "abreast", None) if HAS_CLOCK else None  # protocol.StepsAbreast
        self._engine, self._controller, self._schedule, self._means = engine, controller, schedule, means
        self._texts: Set[int] = frozenset()  # of the last turn
        self._most = 1  # rounds that these may have at once
        self._drafted: tuple[object, Drafted] | None = None  # what was made last, and for whom

    def take(self, turn: Turn) -> list[p.Round] | None:
        """Rounds of a turn, those of all texts in the first pass, then those in the next; None where it has to be taken
        as a single one."""
        since, samples = working_seconds(), turn.samples
        crew: Any = getattr(self._engine, "crew", None)
        stands = None if crew is None or self._open is None else self._stands(samples)
        if stands is None or not all(map(suits, samples)):
            return None
        rounds = min(self._most, *(stand.rounds for stand in stands))
        rounds = min(
            rounds, *(one.ending.room // (1 + stand.tokens) for one, stand in zip(samples, stands, strict=True))
        )
        if rounds < 2:
            return None
        drafts = any(stand.tokens for stand in stands)
        found = self._run_drafted(samples, stands, rounds) if drafts else self._run_plainly(samples, rounds)
        return None if found is None else self._over(*found, since)

    def _stands(self, samples: Sequence[Sample]) -> list[p.Stand] | None:
        """What is decided for all of them; None where something is not, or they have just come: who waits for a first
        token waits for no other."""
        texts = {sample.number for sample in samples}
        self._most = min(MOST, 2 * self._most) if texts <= self._texts else 1
        self._texts = texts
        if self._most < 2:
            return None
        found: dict[int, p.Stand] = {}
        for judge, own in self._judged(samples):
            stands = getattr(judge, "stands_abreast", None)  # protocol.StandsAbreast
            told = None if stands is None else stands([sample.number for sample in own])
            if told is None:
                return None
            found |= {sample.number: stand for sample, stand in zip(own, told, strict=True)}
        stands = [found[sample.number] for sample in samples]
        able = zip(stands, samples, strict=True)
        return stands if all(stand.tokens <= sample.parts.most_drafted for stand, sample in able) else None

    def _run_plainly(self, samples: Sequence[Sample], rounds: int) -> tuple[Any, p.Abreast, Ran] | None:
        way = Plainly.of(samples)
        passes = None if way is None else self._passes(samples, rounds, [0] * len(samples))
        if way is None or passes is None:
            return None
        crew: Any = self._engine.crew  # type: ignore[attr-defined] # as `take` has seen
        ran = way.run(passes.job, crew, self._means.plain_rounds, self._limits(samples, rounds))
        return None if ran is None else (way, passes, ran)

    def _run_drafted(
        self, samples: Sequence[Sample], stands: Sequence[p.Stand], rounds: int
    ) -> tuple[Any, p.Abreast, Ran] | None:
        drawn = self._drawn(samples, stands)
        passes = None if drawn is None else self._passes(samples, rounds, [stand.tokens for stand in stands])
        if drawn is None or passes is None:
            return None
        way = self._way(drawn, passes.job)
        rounds = way.begin(drawn, rounds) if way.desks else 0
        crew: Any = self._engine.crew  # type: ignore[attr-defined] # as `take` has seen
        ran = way.run(crew, self._limits(samples, rounds)) if rounds else None
        return None if ran is None else (way, passes, ran)

    def _drawn(self, samples: Sequence[Sample], stands: Sequence[p.Stand]) -> list[Drawn] | None:
        """Who drafts, and how much; None where that has to be found out."""
        guesses = [*fresh_guesses(self._schedule, samples, dict.fromkeys(samples, ()))]
        if len(guesses) < len(samples):
            return None
        both = zip(guesses, stands, strict=True)
        found = [Drawn(guess, source, stand.tokens, bool(stand.source)) for guess, stand in both
                 if (source := source_of(guess, stand)) is not None]  # fmt: skip
        return found if len(found) == len(samples) else None

    def _way(self, drawn: Sequence[Drawn], job: p.PassJob) -> Drafted:
        """As it was made for the same."""
        kind = [(each.guess.sample.number, each.source, each.tokens) for each in drawn]
        if self._drafted is None or self._drafted[0] != kind or not self._drafted[1].serves(job):
            self._drafted = kind, Drafted(drawn, job, self._means.judge)
        return self._drafted[1]

    def _passes(self, samples: Sequence[Sample], rounds: int, drafts: Sequence[int]) -> p.Abreast | None:
        assert self._open is not None
        found: p.Abreast | None = self._open([sample.sequence for sample in samples], rounds, drafts)
        return found

    @staticmethod
    def _limits(samples: Sequence[Sample], rounds: int) -> tuple[int, float, p.Ints]:
        return rounds, LONGEST, ends([sample.ending.end_ids for sample in samples])

    def _over(self, way: Any, passes: p.Abreast, ran: Ran, since: float) -> list[p.Round]:
        """The texts go on, and all hear of it; what is over is kept, whatever comes in between."""
        done: list[p.Round] = []
        try:
            self._enter(way, ran)
            passes.end([side.tokens for side in way.sides])
            self._tell(way, ran, since, done)
        except BaseException as error:
            if not is_mistake(error):
                left = [
                    side.round(k, NOW, 0.0, ran, 1) for side in way.sides for k in range(side.told, len(side.found))
                ]
                self._schedule.rescue(done + left)
            raise
        return done

    def _enter(self, way: Any, ran: Ran) -> None:
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

    def _tell(self, way: Any, ran: Ran, since: float, done: list[p.Round]) -> None:
        """Of rounds in their order, each with its share of what was done for all since the turn came."""
        own = working_seconds() - since - sum(times.whole for times in ran.times)
        more = own / max(1, sum(len(side.found) for side in way.sides))
        for number, times in enumerate(ran.times):
            start = working_seconds()
            present = [side for side in way.sides if len(side.found) > number]
            if not present:
                break
            dozing = self._ask(way, present)
            if number == len(ran.times) - 1:
                for side in present:
                    self._apart(side, partial(way.hear, side, ran, dozing=dozing[side.place]))
            further = more + (working_seconds() - start) / len(present)
            told = [side.round(number, times, further, ran, len(present)) for side in present]
            done += told
            self._controller.observe(told)

    def _ask(self, way: Any, present: Sequence[Side]) -> dict[int, bool]:
        """Controllers hear of a round as if it were now; whether what drafts a text may doze in it, by its place."""
        found: dict[int, bool] = {}
        sides = {side.sample.number: side for side in present}
        for judge, samples in self._judged([side.sample for side in present]):
            own = [sides[sample.number] for sample in samples]
            found |= zip(
                (side.place for side in own), way.ask(judge, own, all_here=len(present) == len(way.sides)), strict=True
            )
        return found

    def _judged(self, samples: Sequence[Sample]) -> list[tuple[p.Controller, list[Sample]]]:
        """By who decides for them."""
        found: dict[int, tuple[p.Controller, list[Sample]]] = {}
        for sample in samples:
            judge = sample.parts.controller or self._controller
            found.setdefault(id(judge), (judge, []))[1].append(sample)
        return [*found.values()]


def entered(way: Any, side: Side, rounds: int) -> None:
    """So many rounds of a text, as far as it goes on."""
    for number in range(rounds):
        if side.sample.finish_reason is None:
            way.enter(side, number)


def ends(ids: Sequence[Collection[int]]) -> p.Ints:
    """The tokens that end each text [texts, some]."""
    found = np.full((len(ids), max(map(len, ids))), NEVER, np.int64)
    for text, each in enumerate(ids):
        found[text, : len(each)] = sorted(each)
    return found
