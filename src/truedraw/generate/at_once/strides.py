"""Rounds of a text that is alone, a few at once, while what was decided stands: nobody is asked in between.

What surrounds a pass is met anew behind each, since weights have taken its place in the caches. So passes come one
behind the other with what they cannot do without: a proposal, a verdict, the stop rules, and drafters that hear the
text. What else belongs to a round is done for all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truedraw import protocol as p
from truedraw.generate.at_once import plan as plans
from truedraw.generate.at_once.abreast import Abreast
from truedraw.generate.at_once.machine import MOST
from truedraw.generate.at_once.machines import Machines
from truedraw.generate.at_once.plan import Deciding, Plan, Ran
from truedraw.generate.guess import Guess, fresh_guesses
from truedraw.generate.judging import Spent, judged, round_of
from truedraw.generate.logits_sizes import check_sizes
from truedraw.generate.means import Means
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.handlers import is_mistake
from truedraw.sampling.working_time import working_seconds


class Strides:
    """Those of one loop."""

    def __init__(self, engine: p.Engine, controller: p.Controller, schedule: Schedule, means: Means) -> None:
        self._stride = getattr(engine, "stride", None)  # protocol.Strides
        self._controller, self._schedule, self._means = controller, schedule, means
        self._machines, self._engine = Machines(means.judge), engine
        self._abreast = Abreast(engine, controller, schedule, means)
        self._error: Exception | None = None  # of the engine
        self._text, self._most = -1, 1  # the last one that was alone, and how many rounds it may have at once
        self._alone: Sample | None = None  # whose rounds may begin with the present one, once that is decided
        self._since = 0.0  # the turn came
        self._decided: Plan | None = None
        self._several: list[Sample] | None = None  # likewise of those that are computed together
        self._begun: list[p.Round] | None = None

    def turn(self) -> Turn | None:
        """The schedule's next; raises what the engine did behind rounds that are handed out by now, before anybody
        joins who had no part in that."""
        self._raise()
        return self._schedule.turn()

    def take(self, turn: Turn) -> list[p.Round] | None:
        """Rounds of a turn, in their order, as far as they came; None where it has to be taken as a single one.

        Raises what the engine did in the first of them.
        """
        self._since, self._alone, self._several = working_seconds(), None, None
        self._machines.keep(turn.samples[0] if len(turn.samples) == 1 else None)
        self._abreast.keep(turn.samples)
        if turn.fills or turn.scores is not None:
            return None
        if len(turn.samples) > 1:
            self._several = [*turn.samples]
            return self._abreast.take(turn)
        if self._stride is None or not turn.samples:
            return None
        sample = turn.samples[0]
        if self._at_once(sample) < 2 or not plans.is_simple(sample):
            return None
        plan, self._alone = self._plan(sample), sample
        return None if plan is None else self._ran(plan)

    def begins_with(self, guesses: Sequence[Guess], choices: Sequence[p.Choice]) -> bool:
        """Whether rounds begin with the turn that was just decided for these; `take_decided` has them."""
        if [each.sample for each in guesses] == self._several:
            self._begun = self._abreast.begin_with(guesses, choices, self._since)
            return self._begun is not None
        return len(guesses) == 1 and self._alone_begins_with(guesses[0], choices[0])

    def _alone_begins_with(self, guess: Guess, choice: p.Choice) -> bool:
        began, sample = working_seconds(), guess.sample
        judge = sample.parts.controller or self._controller
        stands = plans.stands_behind(judge, [guess], [choice]) if sample is self._alone else None
        if stands is None or self._num_rounds(sample, stands[0]) < 2:
            return False
        if (plan := self._planned(guess, judge, stands[0], began)) is None:
            return False
        self._decided = plan._replace(decided=Deciding(began - self._since, sample.draft_seconds))
        return True

    def take_decided(self) -> list[p.Round] | None:
        """Rounds of a turn that was decided, as `take`; None where they do not begin with it."""
        plan, begun, self._decided, self._begun = self._decided, self._begun, None, None
        return begun if plan is None else self._ran(plan)

    def _ran(self, plan: Plan) -> list[p.Round]:
        ran = self._run(plan)
        if not ran:
            self._raise()
        return self._all_told(plan, ran)

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _plan(self, sample: Sample) -> Plan | None:
        """Of rounds for which all is settled; None where there is none."""
        began, judge = working_seconds(), sample.parts.controller or self._controller
        stand = plans.stand_of(judge, sample)
        if stand is None or not self._num_rounds(sample, stand):
            return None
        guess = next(iter(fresh_guesses(self._schedule, [sample], {sample: ()})), None)
        return None if guess is None else self._planned(guess, judge, stand, began)

    def _planned(self, guess: Guess, judge: p.Controller, stand: p.Stand, began: float) -> Plan | None:
        assert self._stride is not None
        sample, source = guess.sample, plans.source_of(guess, stand)
        rounds = self._num_rounds(sample, stand)
        if source is None or not rounds:
            return None
        tokens = plans.most_tokens(sample, rounds, stand.tokens)
        stride = self._stride(sample.sequence, tokens, stand.tokens)
        length = len(sample.sequence.tokens)
        return None if stride is None else Plan(guess, judge, stand, source, stride, rounds, length, began)

    def _num_rounds(self, sample: Sample, stand: p.Stand) -> int:
        return plans.num_rounds(self._most, [sample], [stand])

    def _at_once(self, sample: Sample) -> int:
        """Four times as many each time: who waits for a first token does not wait for more."""
        self._text, self._most = sample.number, 1 if sample.number != self._text else min(MOST, 4 * self._most)
        return self._most

    def _run(self, plan: Plan) -> list[Ran]:
        sample, ran = plan.guess.sample, list[Ran]()
        try:
            while self._goes_on(plan, len(ran)):
                if not self._run_by_machine(plan, ran):
                    ran.append(self._round(plan, ran))
        except BaseException as error:  # a plug-in's part may raise anything
            if not is_mistake(error):  # what is over is kept
                self._schedule.rescue(self._all_told(plan, ran))
                raise
            if self._error is None:
                self._schedule.failed(sample, error)
        plan.stride.end()
        if sample.finish_reason is not None:
            self._machines.keep(None)
        return ran

    def _run_by_machine(self, plan: Plan, ran: list[Ran]) -> bool:
        """As many as compiled code knows how to run; whether there were any."""
        crew: Any = getattr(self._engine, "crew", None)
        machine = None if crew is None else self._machines.of(plan)
        left = plans.longest(self._schedule) - (working_seconds() - plan.began)
        return False if machine is None else machine.run(crew, plan, left, ran)

    def _goes_on(self, plan: Plan, number: int) -> bool:
        """Whether round number so-and-so begins. No token has a part in that but one that ends the text."""
        is_late = self._schedule.is_awaited or working_seconds() - plan.began > plans.longest(self._schedule)
        return not number or not (plan.is_over(number) or is_late)

    def _round(self, plan: Plan, ran: list[Ran]) -> Ran:
        start, sample = working_seconds(), plan.guess.sample
        proposal = plan.drafted()
        drafted = working_seconds()
        scores = self._scored(plan, proposal)
        scored = working_seconds()
        position = plan.length + sum(len(each.found.tokens) for each in ran)
        rows, found = judged(sample, proposal, scores, self._means, position)
        with rows:
            sample.law, sample.finish_reason = rows.law_after(found.tokens), found.finish_reason
        plan.stride.keep(found.tokens)
        plan.heard(len(ran), found.tokens, p.Scores(scores.logits, scores.hidden, proposal))
        draft, whole = drafted - start if plan.source else 0.0, working_seconds() - (start if ran else plan.began)
        late = draft if plan.stand.source else None
        return Ran(proposal, found, Spent(draft, late, scored - drafted, whole, plan.stride.rows))

    def _scored(self, plan: Plan, proposal: p.Proposal) -> p.Scores:
        try:
            scores = plan.stride.score(proposal)
            check_sizes(self._engine, [proposal], [scores])
            return scores
        except Exception as error:
            self._error = error if is_mistake(error) else None
            raise

    def _all_told(self, plan: Plan, ran: list[Ran]) -> list[p.Round]:
        """Rounds in their order; the first bears what it took to decide, if that was done within it."""
        if ran and plan.decided is not None:
            spent, (seconds, draft) = ran[0].spent, plan.decided
            spent = spent._replace(draft=spent.draft + draft, all=spent.all + seconds)
            ran = [ran[0]._replace(spent=spent), *ran[1:]]
        return [self._told(plan, each, is_asked=not k and plan.decided is not None) for k, each in enumerate(ran)]

    def _told(self, plan: Plan, ran: Ran, *, is_asked: bool) -> p.Round:
        """The controller hears of a round as if it were now."""
        start, sample = working_seconds(), plan.guess.sample
        if not is_asked:
            plans.ask(plan.judge, {sample.number: plan.guess.asker})
        spent = ran.spent._replace(all=ran.spent.all + working_seconds() - start)
        done = round_of(sample, ran.proposal, ran.found, spent, source=plan.source)
        self._controller.observe([done])
        return done
