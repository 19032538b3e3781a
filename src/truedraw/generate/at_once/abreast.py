"""Rounds of several texts, a few at once, while what was decided for all of them stands: by compiled code, and what
Python does for them behind it, met once and not anew behind each pass.

They are the rounds that Python would have run, by the same laws and the same noise. Where one of the texts is not for
compiled code, or it finds no token, all are left to Python.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import Any

import numpy as np

from truedraw import protocol as p
from truedraw.generate.at_once import plan as plans
from truedraw.generate.at_once.drafted import Drafted, Drawn
from truedraw.generate.at_once.machine import MOST
from truedraw.generate.at_once.machines import HAS_CLOCK
from truedraw.generate.at_once.plainly import Plainly
from truedraw.generate.at_once.plan import Deciding
from truedraw.generate.at_once.side import Ran, edits, suits
from truedraw.generate.at_once.telling import Telling, Way
from truedraw.generate.guess import Guess, fresh_guesses
from truedraw.generate.guesses import grouped
from truedraw.generate.means import Means
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.sampling.working_time import working_seconds

NEVER = -1  # in the place of a token


class Abreast:
    """Of one loop."""

    def __init__(self, engine: p.Engine, controller: p.Controller, schedule: Schedule, means: Means) -> None:
        self._open = getattr(engine, "abreast", None) if HAS_CLOCK else None  # protocol.StepsAbreast
        self._engine, self._controller, self._schedule, self._means = engine, controller, schedule, means
        self._telling = Telling(controller, schedule)
        self._texts: Set[int] = frozenset()  # of the last turn
        self._most = 1  # rounds that these may have at once
        self._drafted: tuple[list[int], object, Drafted] | None = None  # for which texts, and for what of them

    def take(self, turn: Turn) -> list[p.Round] | None:
        """Rounds of a turn, those of all texts in the first pass, then those in the next; None where it has to be taken
        as a single one."""
        since, samples = working_seconds(), turn.samples
        stands = None if self._crew is None or self._open is None else self._stands(samples)
        if stands is None or not all(map(suits, samples)):
            return None
        rounds = plans.num_rounds(self._most, samples, stands)
        if rounds < 2:
            return None
        is_plain = not any(stand.tokens for stand in stands) and not any(map(edits, samples))
        found = self._run_plainly(samples, rounds) if is_plain else self._run_by_rules(samples, stands, rounds)
        return None if found is None else self._telling.over(*found, since)

    def begin_with(self, guesses: Sequence[Guess], choices: Sequence[p.Choice], since: float) -> list[p.Round] | None:
        """The same, beginning with a turn that was just decided, all of it since then; None where that cannot be."""
        began, samples = working_seconds(), [guess.sample for guess in guesses]
        if self._crew is None or self._open is None or self._most < 2 or not all(map(suits, samples)):
            return None
        (judge, _), *others = grouped(samples, self._controller)
        stands = None if others else plans.stands_behind(judge, guesses, choices)
        rounds = 0 if stands is None else plans.num_rounds(self._most, samples, stands)
        if stands is None or rounds < 2:
            return None
        share = (began - since) / len(samples)
        decided = [Deciding(share, sample.draft_seconds) for sample in samples]
        found = self._run_by_rules(samples, stands, rounds, drawn_by(guesses, stands))
        return None if found is None else self._telling.over(*found, since, decided)

    @property
    def _crew(self) -> Any:
        """The engine's, None where it has none."""
        return getattr(self._engine, "crew", None)

    def keep(self, samples: Sequence[Sample]) -> None:
        """What was made for these alone: of a text that has ended nothing stays."""
        if self._drafted is not None and self._drafted[0] != [sample.number for sample in samples]:
            self._drafted = None

    def _stands(self, samples: Sequence[Sample]) -> list[p.Stand] | None:
        """What is decided for all of them; None where something is not, or they have just come: who waits for a first
        token waits for no other."""
        texts = {sample.number for sample in samples}
        self._most = min(MOST, 4 * self._most) if texts <= self._texts else 1
        self._texts = texts
        if self._most < 2:
            return None
        found: dict[int, p.Stand] = {}
        for judge, own in grouped(samples, self._controller):
            told = plans.stands_of(judge, own)
            if told is None or not all(stand.tokens or stand.rest for stand in told):
                return None
            found |= {sample.number: stand for sample, stand in zip(own, told, strict=True)}
        return [found[sample.number] for sample in samples]

    def _run_plainly(self, samples: Sequence[Sample], rounds: int) -> tuple[Way, p.Abreast, Ran] | None:
        way = Plainly.of(samples)
        passes = None if way is None else self._passes(samples, rounds, [0] * len(samples))
        if way is None or passes is None:
            return None
        ran = way.run(passes.job, self._crew, self._means.plain_rounds, self._limits(samples, rounds))
        return None if ran is None else (way, passes, ran)

    def _run_by_rules(
        self, samples: Sequence[Sample], stands: Sequence[p.Stand], rounds: int, drawn: list[Drawn] | None = None
    ) -> tuple[Way, p.Abreast, Ran] | None:
        """drawn: where that is known, who drafts."""
        kind = [sample.number for sample in samples], [(stand.source, stand.tokens) for stand in stands]
        known = self._drafted[2] if self._drafted is not None and self._drafted[:2] == kind else None
        if known is not None and not known.desks:  # Python has to draw
            return None
        drawn = drawn or self._drawn(samples, stands)
        passes = None if drawn is None else self._passes(samples, rounds, [stand.tokens for stand in stands])
        if drawn is None or passes is None:
            return None
        if known is None or not known.serves(passes.job):
            known = Drafted(drawn, passes.job, self._means.judges)
        self._drafted = *kind, known
        rounds = known.begin(drawn, rounds) if known.desks else 0
        ran = known.run(self._crew, self._limits(samples, rounds)) if rounds else None
        return None if ran is None else (known, passes, ran)

    def _drawn(self, samples: Sequence[Sample], stands: Sequence[p.Stand]) -> list[Drawn] | None:
        """Who drafts, and how much; None where that has to be found out."""
        guesses = [*fresh_guesses(self._schedule, samples, dict.fromkeys(samples, ()))]
        return drawn_by(guesses, stands) if len(guesses) == len(samples) else None

    def _passes(self, samples: Sequence[Sample], rounds: int, drafts: Sequence[int]) -> p.Abreast | None:
        assert self._open is not None
        tokens = [plans.most_tokens(one, rounds, some) for one, some in zip(samples, drafts, strict=True)]
        found: p.Abreast | None = self._open([sample.sequence for sample in samples], tokens, drafts)
        return found

    def _limits(self, samples: Sequence[Sample], rounds: int) -> tuple[int, float, p.Ints]:
        return rounds, plans.longest(self._schedule), ends([sample.ending.end_ids for sample in samples])


def drawn_by(guesses: Sequence[Guess], stands: Sequence[p.Stand]) -> list[Drawn] | None:
    """Who drafts, and how much; None where that has to be found out."""
    both = zip(guesses, stands, strict=True)
    found = [Drawn(guess, source, stand.tokens, bool(stand.source)) for guess, stand in both
             if (source := plans.source_of(guess, stand)) is not None]  # fmt: skip
    return found if len(found) == len(guesses) else None


def ends(ids: Sequence[Collection[int]]) -> p.Ints:
    """The tokens that end each text [texts, some]."""
    found = np.full((len(ids), max(map(len, ids))), NEVER, np.int64)
    for text, each in enumerate(ids):
        found[text, : len(each)] = sorted(each)
    return found
