"""Rounds of several texts that nobody drafts for, a few at once: by compiled code (abreast_loop.py), and what Python
does for them behind it, met once and not anew behind each pass.

They are the rounds that Python would have run, by the same laws and the same noise. Where one of the texts is not for
compiled code, or it finds no token, all are left to Python.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from truedraw import protocol as p
from truedraw.compiled import later
from truedraw.generate.at_once.machine import A_SECOND, MOST, NOT_SHOWN
from truedraw.generate.at_once.machines import HAS_CLOCK
from truedraw.generate.at_once.plan import stand_of
from truedraw.generate.at_once.side import Ran, Side
from truedraw.generate.means import Means
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.handlers import is_mistake
from truedraw.sampling.working_time import working_seconds

RUN = later("truedraw.generate.at_once.abreast_loop", "run")
LONGEST = 0.04  # seconds behind which no more rounds begin: somebody may wait, or read
NEVER = -1  # in the place of a token
NOW = 0.0, 0.0  # seconds of rounds that nobody times any more


class Abreast:
    """Of one loop."""

    def __init__(self, engine: p.Engine, controller: p.Controller, schedule: Schedule, means: Means) -> None:
        self._open = getattr(engine, "abreast", None) if HAS_CLOCK else None  # protocol.StepsAbreast
        self._engine, self._controller, self._schedule, self._means = engine, controller, schedule, means
        self._texts: Set[int] = frozenset()  # of the last turn
        self._most = 1  # rounds that these may have at once

    def take(self, turn: Turn) -> list[p.Round] | None:
        """Rounds of a turn, those of all texts in the first pass, then those in the next; None where it has to be taken
        as a single one."""
        since, rounds = working_seconds(), self._num_rounds(turn.samples)
        crew: Any = getattr(self._engine, "crew", None)
        if rounds < 2 or crew is None or self._open is None:
            return None
        sides = [side for sample in turn.samples if (side := Side.of(sample)) is not None]
        if len(sides) < len(turn.samples):
            return None
        passes = self._open([side.sample.sequence for side in sides], rounds)
        ran = None if passes is None else self._run(sides, passes.job, crew, rounds)
        return None if passes is None or ran is None else self._over(sides, passes, ran, since)

    def _num_rounds(self, samples: Sequence[Sample]) -> int:
        """For which it is settled that nobody drafts, as many as these may have."""
        texts = {sample.number for sample in samples}
        self._most = min(MOST, 2 * self._most) if texts <= self._texts else 1  # who waits for a first token waits less
        self._texts, rounds = texts, self._most
        for sample in samples:
            if rounds < 2:
                break
            stand = stand_of(self._judge(sample), sample)
            rounds = 0 if stand is None or stand.tokens else min(rounds, stand.rest, sample.ending.room)
        return rounds

    def _run(self, sides: Sequence[Side], job: p.PassJob, crew: Any, rounds: int) -> Ran | None:
        """None where no round came."""
        asked = [side.asked(row) for side, row in zip(sides, job.logits, strict=True)]
        draws = self._means.plain_rounds.kept(asked)
        told, moments = np.empty((rounds, len(sides), 3)), np.zeros((rounds, 3), np.int64)
        hidden = NOT_SHOWN if job.hidden is None or not any(side.hearers.listening for side in sides) else job.hidden
        shown = np.empty((rounds, *hidden.shape), np.float32)
        target = job.job.addresses, job.counters, job.ids, job.positions, job.past
        drawing = draws.job.addresses, draws.counters, draws.names, draws.told
        limits = rounds, int(LONGEST * A_SECOND), ends([side.sample.ending.end_ids for side in sides])
        crew.wake()
        count = RUN()(crew.board, (target, drawing, limits, (told, moments), (hidden, shown)))
        times = (moments[:count] / A_SECOND).tolist()
        seconds = [(scored - begun, ended - begun) for begun, scored, ended in times]
        return Ran(seconds, told[:count], shown, job.logits, job.hidden) if count else None

    def _over(self, sides: Sequence[Side], passes: p.Abreast, ran: Ran, since: float) -> list[p.Round]:
        """The texts go on, and all hear of it; what is over is kept, whatever comes in between."""
        done: list[p.Round] = []
        try:
            for place, side in enumerate(sides):
                self._apart(side, partial(side.read, ran.told[:, place].tolist()))
            passes.end([side.tokens for side in sides])
            self._tell(sides, ran, since, done)
        except BaseException as error:
            if not is_mistake(error):
                left = [side.round(k, NOW, len(sides)) for side in sides for k in range(side.told, len(side.found))]
                self._schedule.rescue(done + left)
            raise
        return done

    def _apart(self, side: Side, act: partial[None]) -> None:
        """Whatever a part of a job raises concerns that job."""
        try:
            act()
        except BaseException as error:
            if not is_mistake(error):
                raise
            self._schedule.failed(side.sample, error)

    def _tell(self, sides: Sequence[Side], ran: Ran, since: float, done: list[p.Round]) -> None:
        """Of rounds in their order, each with its share of what was done for all since the turn came."""
        own = working_seconds() - since - sum(whole for _, whole in ran.seconds)
        more = own / max(1, sum(len(side.found) for side in sides))
        for number, (engine, whole) in enumerate(ran.seconds):
            start = working_seconds()
            present = [(place, side) for place, side in enumerate(sides) if len(side.found) > number]
            if not present:
                break
            rests = self._rests([side.sample for _, side in present])
            if number == len(ran.seconds) - 1:
                for (place, side), rest in zip(present, rests, strict=True):
                    self._apart(side, partial(side.hear, ran, place, dozing=rest > 1))
            texts = len(present)
            seconds = engine / texts, (whole + working_seconds() - start) / texts + more
            told = [side.round(number, seconds, len(sides)) for _, side in present]
            done += told
            self._controller.observe(told)

    def _rests(self, samples: Sequence[Sample]) -> list[int]:
        """What their controllers say of them in this round: that nobody is asked, as they have said before."""
        found: dict[int, int] = {}
        judges = {id(judge): judge for judge in map(self._judge, samples)}
        for judge in judges.values():
            own = [sample.number for sample in samples if self._judge(sample) is judge]
            found |= zip(own, judge.rest(own), strict=True)  # type: ignore[attr-defined] # protocol.Rests
        return [found[sample.number] for sample in samples]

    def _judge(self, sample: Sample) -> p.Controller:
        return sample.parts.controller or self._controller


def ends(ids: Sequence[Collection[int]]) -> p.Ints:
    """The tokens that end each text [texts, some]."""
    found = np.full((len(ids), max(map(len, ids))), NEVER, np.int64)
    for text, each in enumerate(ids):
        found[text, : len(each)] = sorted(each)
    return found
