"""Rounds of several texts in which nothing is drafted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truedraw import protocol as p
from truedraw.compiled import later
from truedraw.generate.at_once.hearing import hearers_of, states_of
from truedraw.generate.at_once.machine import A_SECOND, NOT_SHOWN
from truedraw.generate.at_once.machines import IS_COUPLED
from truedraw.generate.at_once.side import Ran, Side, Times
from truedraw.generate.sample import Sample
from truedraw.threads.crew import Crew
from truedraw.verify.fused.plain_rounds import Asked, PlainRounds, decided

RUN = later("truedraw.generate.at_once.plainly_loop", "run")


class Plainly:
    """Of texts that are run abreast. `told` [rounds, texts, 3] is what the draws told."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self.sides = sides
        self._told: list[list[tuple[float, float, float]]] = []

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Plainly | None:
        """None where somebody wants to hear all that the target says in each round."""
        heard = [hearers_of(states_of(sample.draft).values()) for sample in samples]
        sides = [Side(place, sample, own) for place, (sample, own) in enumerate(zip(samples, heard, strict=True))
                 if own is not None]  # fmt: skip
        return cls(sides) if len(sides) == len(samples) else None

    def run(self, job: p.PassJob, crew: Crew, draws: PlainRounds, limits: tuple[int, float, p.Ints]) -> Ran | None:
        """As many rounds, within so many seconds, as come; None where none did. The third: tokens that end a text."""
        (rounds, seconds, ends), texts = limits, len(self.sides)
        drawing = draws.kept([asked(side.sample, row) for side, row in zip(self.sides, job.logits, strict=True)])
        told, moments = np.empty((rounds, texts, 3)), np.zeros((rounds, 3), np.int64)
        listen = job.hidden is not None and any(side.hearers.listening for side in self.sides)
        hidden: Any = job.hidden if listen else NOT_SHOWN
        shown = np.empty((rounds, *hidden.shape), np.float32)
        target = job.job.addresses, job.counters, job.ids, job.positions, job.past
        drawn = drawing.job.addresses, drawing.counters, drawing.names, drawing.told
        crew.wake()
        given = target, drawn, (rounds, int(seconds * A_SECOND), ends), (told, moments), (hidden, shown)
        count = RUN()(crew.board, given)
        self._told = told[:count].tolist()
        times = [Times(scored - begun, ended - begun) for begun, scored, ended in (moments[:count] / A_SECOND).tolist()]
        return Ran(times, shown, job.logits, job.hidden, range(texts + 1)) if count else None

    def enter(self, side: Side, number: int) -> None:
        """A round of one of them."""
        found = decided(*self._told[number][side.place])
        assert found is not None
        side.enter(found)

    @staticmethod
    def dozes(side: Side, rest: int) -> bool:  # noqa: ARG004 - all of them rest
        """Whether the drafters of a text may, that rests for so many rounds from the last one on."""
        return rest > 1

    @staticmethod
    def hear(side: Side, ran: Ran, *, dozing: bool) -> None:
        """The drafters of one of them hear of its rounds as if they had been one; of the last alone where they are
        asked next."""
        tokens, row = side.tokens, slice(side.place, side.place + 1)
        last = p.Scores(ran.logits[row], None if ran.hidden is None else ran.hidden[row], p.NOTHING)
        side.hearers.follow([tokens[:-1], tokens[-1:]], last, dozing=dozing)
        if side.hearers.listening:
            shown = ran.shown[: len(tokens), side.place] if ran.shown.shape[1] else None
            side.hearers.listen([tokens], [p.Scores(ran.logits[row], shown, p.Proposal.chain(tokens[:-1]))])


def asked(sample: Sample, logits: p.Logits) -> Asked:
    """Its first draw, from this row."""
    law: Any = sample.law
    chance: Any = sample.randomness
    coupled = IS_COUPLED[type(sample.parts.verifier)]
    return Asked(logits, law.fused.how, chance.name, len(sample.sequence.tokens), coupled)
