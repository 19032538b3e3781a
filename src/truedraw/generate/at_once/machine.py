"""Rounds that compiled code runs one behind the other (loop.py), and what Python does for them: once, behind them.

They are the rounds that Python would have run, by the same laws and the same noise. Where compiled code cannot go on,
for want of a draft or of a law, it leaves the round to Python, which draws the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from truedraw import protocol as p
from truedraw.compiled import later
from truedraw.draft.behind import law_after
from truedraw.generate.at_once.hearing import Hearers
from truedraw.generate.at_once.plan import Plan, Ran
from truedraw.generate.guarded_drafter import GuardedState
from truedraw.generate.judging import Judged, Spent
from truedraw.protocol.slate import COUNT, POSITION, SIZE, Slate
from truedraw.sampling.tallies import Tallies
from truedraw.sampling.working_time import working_seconds
from truedraw.threads.crew import Crew
from truedraw.threads.kept import Kept
from truedraw.verify.fused.judge import Decided, decided

RUN = later("truedraw.generate.at_once.loop", "run")
MOST = 16  # rounds
A_SECOND = 1e9  # nanoseconds
NO_JOB = 0, 0
NOT_SHOWN = np.zeros((0, 0, 0), np.float32)


class Drafting(NamedTuple):
    """Who draws the chains of a text, nobody where nothing is drafted, and who hears of the text when he is asked."""

    job: p.DraftJob | None
    guard: GuardedState | None
    hearers: Hearers  # the other draft states

    def end(
        self, rounds: Sequence[tuple[Sequence[int], p.Proposal]], last: p.Scores, is_last: bool, took: float
    ) -> None:
        """Who draws hears of rounds, see protocol.DraftJob; `took`: seconds of the longest of its calls."""
        if (job := self.job) is not None and self.guard is not None:
            self.guard.guard.attempt("commit", lambda: job.end(rounds, last, is_last))
            self.guard.guard.took("propose", took)


class Rule(NamedTuple):
    """As a job, and where it tells [4, 1 + drafts]."""

    job: Kept
    told: p.Floats


class Machine:
    """Of one text, whose rounds draft chains as long as its slate has room for; `ends` are the tokens that end it.

    tallies: what its law edits, where it does.
    """

    def __init__(
        self, target: p.PassJob, slate: Slate, drafting: Drafting, rule: Rule, ends: p.Ints, tallies: Tallies | None
    ) -> None:
        self._target, self._slate, self._drafting, self._rule, self._ends = target, slate, drafting, rule, ends
        self._tallies = tallies
        drafts = len(slate.tokens)
        numbers, moments = np.zeros((MOST, SIZE), np.int64), np.zeros((MOST, 4), np.int64)
        tokens, sure = np.zeros((MOST, drafts), np.int64), np.zeros((MOST, drafts))
        self._kept = np.zeros((MOST, 4, 1 + drafts)), numbers, tokens, sure, moments
        hidden = NOT_SHOWN if target.hidden is None else target.hidden
        self._shown = hidden, np.zeros((MOST, *hidden.shape), np.float32)

    def serves(self, target: p.PassJob) -> bool:
        """Whether all that it works on is where it was; passes may be another job over the same memory."""
        job = self._drafting.job
        is_still = target.logits is self._target.logits and target.hidden is self._target.hidden
        self._target = target if is_still else self._target
        return is_still and (job is None or job.is_still)

    def run(self, crew: Crew, plan: Plan, seconds: float, ran: list[Ran]) -> bool:
        """As many rounds of the plan as begin within so many seconds, behind those that ran; whether there were any."""
        before, position = len(ran), plan.length + sum(len(each.found.tokens) for each in ran)
        rounds = self._begin(plan, position, min(plan.rounds - before, MOST), ran)
        if not rounds:
            return False
        crew.wake()
        longest = position + plan.guess.sample.ending.room
        count, is_last = RUN()(crew.board, self._given(rounds, seconds, longest))
        drafts = [each[:count].copy() for each in (self._kept[2], self._kept[3])]
        for told, numbers, moments, tokens, sure in zip(*self._lists(count), *drafts, strict=True):
            ran.append(self._over(plan, decided(told, numbers), self._proposal(tokens, sure), moments))
            if plan.guess.sample.finish_reason is not None:
                break
        if count:
            self._hear(plan, ran, before, is_last and count == len(ran) - before)
            ran[before:] = shared_out(plan, ran, before)
        return len(ran) > before

    def _begin(self, plan: Plan, position: int, rounds: int, ran: list[Ran]) -> int:
        """The slate is as the first of so many rounds needs it; how many of them can be."""
        job, guard = self._drafting.job, self._drafting.guard
        if self._tallies is not None:
            law: Any = plan.guess.sample.law
            self._tallies.follow(law.edits())
        if job is not None and guard is not None:
            guard.awake()
            found: int | None = guard.guard.attempt("propose", lambda: job.begin(position, rounds))
            return found or 0
        self._slate.numbers[[POSITION, COUNT]] = position, 1
        self._slate.last[0] = ran[-1].found.tokens[-1] if ran else plan.guess.sample.sequence.tokens[-1]
        return rounds

    def _given(self, rounds: int, seconds: float, longest: int) -> tuple[Any, ...]:
        """As loop.run takes it."""
        slate, target, job = self._slate, self._target, self._drafting.job
        told = slate.numbers, slate.last, slate.tokens, slate.sure, slate.edited
        asked = target.job.addresses, target.counters, target.ids, target.positions, target.past
        limits = rounds, int(seconds * A_SECOND), self._ends, longest
        draft = NO_JOB if job is None else job.job.addresses
        return told, draft, asked, (self._rule.job.addresses, self._rule.told), limits, self._kept, self._shown

    def _lists(self, count: int) -> Iterator[list[Any]]:
        """Of so many rounds what the rule told, the numbers of the slate, and moments."""
        told, numbers, _, _, moments = self._kept
        return (each[:count].tolist() for each in (told, numbers, moments))

    def _proposal(self, tokens: p.Ints, sure: p.Floats) -> p.Proposal:
        job = self._drafting.job
        return p.NOTHING if job is None else p.Proposal(tokens, self._slate.parents, job.laws, sure)

    def _over(self, plan: Plan, found: Decided | None, proposal: p.Proposal, moments: list[int]) -> Ran:
        """A round that came: what joins the text, and where it ends."""
        assert found is not None
        sample = plan.guess.sample
        kept, sample.finish_reason = sample.ending.cut(found.verdict.tokens)
        sample.law = law_after(sample.law, kept)
        plan.stride.keep(kept)
        return Ran(proposal, judged(found, kept, sample.finish_reason), spent(plan, moments, len(proposal)))

    def _hear(self, plan: Plan, ran: list[Ran], before: int, is_last: bool) -> None:
        """Drafters hear the text, and what the target said in the last round, if no other was begun behind it."""
        rounds, drafting = [(each.found.tokens, each.proposal) for each in ran[before:]], self._drafting
        shown = [None if self._target.hidden is None else hidden for hidden in self._shown[1]]
        scores = [p.Scores(self._target.logits, shown[k], drafted) for k, (_, drafted) in enumerate(rounds)]
        tokens = [own for own, _ in rounds]
        drafting.hearers.listen(tokens, scores)
        drafting.hearers.follow(tokens, scores[-1], dozing=not is_last or plan.dozes(len(ran) - 1))
        drafting.end(rounds, scores[-1], is_last, max(each.spent.draft for each in ran[before:]))


def judged(found: Decided, kept: tuple[int, ...], reason: str | None) -> Judged:
    """A verdict, of which so much joins the text."""
    count = len(kept)
    return Judged(found.verdict, kept, reason, found.logprobs[:count], found.sampling_logprobs[:count])


def spent(plan: Plan, moments: list[int], drafts: int) -> Spent:
    """On a round, by its moments in nanoseconds, see loop.py."""
    begun, proposed, scored, ended = (moment / A_SECOND for moment in moments)
    draft = proposed - begun if plan.source else 0.0
    return Spent(draft, draft if plan.stand.source else None, scored - proposed, ended - begun, 1 + drafts)


def shared_out(plan: Plan, ran: list[Ran], before: int) -> list[Ran]:
    """The last rounds of those that ran, with what was done for them since the plan was begun, or the ones before."""
    last = ran[before:]
    more = (working_seconds() - plan.began - sum(each.spent.all for each in ran)) / len(last)
    return [each._replace(spent=each.spent._replace(all=each.spent.all + more)) for each in last]
