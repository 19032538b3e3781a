"""Rounds of several texts, each decided by its rule: some draft chains that compiled code knows how to draw, or the
laws of some edit logits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from truedraw import protocol as p
from truedraw.compiled import later
from truedraw.generate.at_once.companies import Companies
from truedraw.generate.at_once.drafted_loop import BEGUN, ENDED, LINES, SCORED
from truedraw.generate.at_once.machine import A_SECOND, NO_JOB, NOT_SHOWN, Drafting
from truedraw.generate.at_once.machines import IS_COUPLED, drafting_of, tallies_of
from truedraw.generate.at_once.plan import may_go_on
from truedraw.generate.at_once.side import Ran, Side, Times
from truedraw.generate.guess import Guess
from truedraw.protocol.slate import COUNT, POSITION, SIZE, Slate
from truedraw.sampling.tallies import NO_EDITS, Tallies
from truedraw.threads.crew import Crew
from truedraw.threads.each import Each
from truedraw.threads.kept import Kept
from truedraw.verify.fused.judge import Judge, decided

RUN, JOIN = (later("truedraw.generate.at_once.drafted_loop", name) for name in ("run", "join_tallies"))


class Drawn(NamedTuple):
    """Of a text: who drafts it and what is drafted, by its rule."""

    guess: Guess
    source: str  # "" = nobody
    tokens: int
    late: bool  # whether the source was decided by name


class Desk(NamedTuple):
    """Where the parts of its rounds meet."""

    slate: Slate
    drafting: Drafting
    rules: list[Kept]  # by each of the judges
    tallies: Tallies | None  # of what its law edits
    joining: Kept | None  # tokens to these


class Drafted:
    """Of texts that are run abreast, as often as they are, behind passes over the same memory."""

    def __init__(self, drawn: Sequence[Drawn], job: p.PassJob, judges: Sequence[Judge]) -> None:
        """`desks` has one of each text; [] where Python has to draw for one of them. Each judge has a thread."""
        self._job = job
        self._begins = [*accumulate((1 + each.tokens for each in drawn), initial=0)]
        texts, rows = len(drawn), self._begins[-1]
        self._numbers, self._last = np.zeros((texts, SIZE), np.int64), np.zeros(rows, np.int64)
        self._tokens, self._sure = np.zeros(rows - texts, np.int64), np.zeros(rows - texts)
        self._told = np.zeros(LINES * rows)
        self.desks: list[Desk] = []
        for place, each in enumerate(drawn):
            desk = self._desk(place, each, judges)
            if desk is None:
                self.desks = []
                break
            self.desks.append(desk)
        self._companies = Companies.of([desk.drafting for desk in self.desks])
        if self._companies is None:
            self.desks = []
        if self.desks:
            self._rules = Each([[desk.rules[place] for desk in self.desks] for place in range(len(judges))])
            joins = [NO_JOB if desk.joining is None else desk.joining.addresses for desk in self.desks]
            self._deciding = self._rules.asked, np.array(joins, np.int64), self._told
        self.sides: list[Side] = []
        self._kept: tuple[Any, ...] = ()
        self._is_short = False  # whether fewer rounds came than there were to be
        self._goes_on: bool | None = None  # whether it is so, and the next one may be one of them; None: not known yet

    def _desk(self, place: int, drawn: Drawn, judges: Sequence[Judge]) -> Desk | None:
        first, end = self._begins[place : place + 2]
        own, rows = slice(first - place, end - place - 1), slice(first, end)
        chain, laws = np.arange(-1, drawn.tokens - 1, dtype=np.int64), np.zeros((drawn.tokens, 3), np.int64)
        sample: Any = drawn.guess.sample
        tallies = tallies_of(sample.law, drawn.tokens)
        edited = NO_EDITS if tallies is None else tallies.edited
        slate = Slate(self._numbers[place], self._last[rows], self._tokens[own], chain, laws, self._sure[own], edited)
        hidden = None if self._job.hidden is None else self._job.hidden[rows]
        drafting = drafting_of(drawn.guess, drawn.source, slate, hidden)
        if drafting is None:
            return None
        told, coupled = self._told[LINES * first : LINES * end], IS_COUPLED[type(sample.parts.verifier)]
        law, logits = sample.law.fused.how, self._job.logits[rows]
        given = coupled, law, logits, slate, sample.randomness, told.reshape(LINES, -1)
        rules = [judge.kept(*given)[0] for judge in judges]
        joining = None if tallies is None else Kept(JOIN(), (slate.numbers, slate.last, edited))
        return Desk(slate, drafting, rules, tallies, joining)

    def serves(self, job: p.PassJob) -> bool:
        """Whether all that it works on is where it was; passes may be another job over the same memory."""
        is_still = job.logits is self._job.logits and job.hidden is self._job.hidden
        self._job = job if is_still else self._job
        return is_still and all(desk.drafting.job is None or desk.drafting.job.is_still for desk in self.desks)

    def begin(self, drawn: Sequence[Drawn], rounds: int) -> int:
        """All is as the first of so many rounds needs it; how many of them can be."""
        self.sides = [
            Side(place, each.guess.sample, desk.drafting.hearers, each.guess, each.source, each.late)
            for place, (each, desk) in enumerate(zip(drawn, self.desks, strict=True))
        ]
        texts = sum(bool(side.source) for side in self.sides)
        for side, desk in zip(self.sides, self.desks, strict=True):
            rounds = min(rounds, begun(side, desk, rounds, texts)) if rounds else 0
        return rounds

    def run(self, crew: Crew, limits: tuple[int, float, p.Ints]) -> Ran | None:
        """As many rounds, within so many seconds, as come; None where none did. The third: tokens that end a text."""
        (rounds, seconds, ends), texts, job, companies = limits, len(self.desks), self._job, self._companies
        assert companies is not None
        told, numbers = np.empty((rounds, len(self._told))), np.empty((rounds, texts, SIZE), np.int64)
        tokens, sure = np.empty((rounds, len(self._tokens)), np.int64), np.empty((rounds, len(self._sure)))
        moments = np.zeros((rounds, BEGUN + 1 + len(companies.members)), np.int64)
        hidden: Any = NOT_SHOWN if job.hidden is None else job.hidden
        shown = np.empty((rounds, *hidden.shape), np.float32)
        slates = self._numbers, self._last, self._tokens, self._sure, np.array(self._begins, np.int64)
        target = job.job.addresses, job.counters, job.ids, job.positions, job.past
        self._kept = told, numbers, tokens, sure, moments
        crew.wake()
        longest = [len(side.sample.sequence.tokens) + side.sample.ending.room for side in self.sides]
        within = rounds, int(seconds * A_SECOND), ends, np.array(longest, np.int64)
        given = slates, companies.addresses, target, self._deciding, within, self._kept, (hidden, shown)
        count, is_last = RUN()(crew.board, given)
        times = [times_of(each, companies.members, texts) for each in (moments[:count] / A_SECOND).tolist()]
        self._is_short, self._goes_on = count < rounds, None
        return Ran(times, shown, job.logits, job.hidden, self._begins, is_last) if count else None

    def enter(self, side: Side, number: int) -> None:
        """A round of one of them."""
        told, numbers, tokens, sure, _ = (each[number] for each in self._kept)
        first, end = self._begins[side.place : side.place + 2]
        desk, own = self.desks[side.place], slice(first - side.place, end - side.place - 1)
        found = decided(told[LINES * first : LINES * end].reshape(LINES, -1).tolist(), numbers[side.place].tolist())
        assert found is not None
        job = desk.drafting.job
        proposal = p.NOTHING if job is None else p.Proposal(tokens[own], desk.slate.parents, job.laws, sure[own])
        side.enter(found, proposal)

    def dozes(self, side: Side, rest: int) -> bool:
        """Whether the drafters of a text may, but for who drafts it, behind the last round."""
        if self._goes_on is None:
            both = zip(self.sides, self.desks, strict=True)
            fit = (may_go_on(each.sample, len(desk.slate.tokens)) for each, desk in both)
            self._goes_on = self._is_short and all(fit)
        return rest > 1 or (bool(side.source) and self._goes_on)

    def hear(self, side: Side, ran: Ran, *, dozing: bool) -> None:
        """The drafters of one of them hear the text; but for who drafted, those who doze hear it later."""
        rows, drafting = slice(*ran.begins[side.place : side.place + 2]), self.desks[side.place].drafting
        rounds = [(judged.tokens, proposal) for proposal, judged in side.found]
        shown = [ran.shown[number, rows] if ran.shown.shape[1] else None for number in range(len(rounds))]
        scores = [p.Scores(ran.logits[rows], each, drafted) for each, (_, drafted) in zip(shown, rounds, strict=True)]
        tokens, is_last = [own for own, _ in rounds], ran.is_last and len(rounds) == len(ran.times)
        drafting.hearers.listen(tokens, scores)
        drafting.hearers.follow(tokens, scores[-1], dozing=dozing or not is_last)
        drafting.end(rounds, scores[-1], is_last, max(times.calls[side.place] for times in ran.times))


def times_of(moments: Sequence[float], members: Sequence[Sequence[int]], texts: int) -> Times:
    """Of a round, see drafted_loop.py; members: of each job that drafts, see Companies."""
    own, calls, drafts = moments[BEGUN:], [0.0] * texts, [0.0] * texts
    for company, (begin, end) in zip(members, pairwise(own), strict=True):
        for text in company:
            calls[text], drafts[text] = end - begin, (end - begin) / len(company)
    return Times(moments[SCORED] - own[-1], moments[ENDED] - moments[BEGUN], drafts, calls)


def begun(side: Side, desk: Desk, rounds: int, texts: int) -> int:
    """How many of so many rounds a text can have, of which so many texts draft in each."""
    text, (job, guard, _) = side.sample.sequence.tokens, desk.drafting
    if desk.tallies is not None:
        law: Any = side.sample.law
        desk.tallies.follow(law.edits())
    if job is None or guard is None:
        desk.slate.numbers[[POSITION, COUNT]], desk.slate.last[0] = (len(text), 1), text[-1]
        return rounds
    guard.awake()
    return guard.guard.attempt("propose", lambda: job.begin(len(text), rounds, texts)) or 0
