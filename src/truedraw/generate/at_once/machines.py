"""Who can have rounds run by compiled code: a text under a rule, a law and a drafter that it knows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw import protocol as p
from truedraw.generate.at_once.hearing import hearers_of, states_of
from truedraw.generate.at_once.machine import MOST, Drafting, Machine, Rule
from truedraw.generate.at_once.plan import Plan
from truedraw.generate.guarded_drafter import GuardedState
from truedraw.generate.guess import Guess
from truedraw.generate.sample import Sample
from truedraw.protocol.slate import Slate
from truedraw.sampling.counts import RECENT_TOKENS
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.tallies import NO_EDITS, Tallies
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.fused.judge import Judge
from truedraw.verify.traversal import TraversalVerifier

IS_COUPLED: dict[type, bool] = {CoupledVerifier: True, TraversalVerifier: False}
"""Of the rules that compiled code knows."""
HAS_CLOCK = hasattr(time, "CLOCK_MONOTONIC")  # one that compiled code can read

Kind = tuple[str, int]
"""Who drafts, and how many tokens a round."""


class Machines:
    """Of the text that is alone."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._sample: Sample | None = None
        self._made: dict[Kind, Machine] = {}
        self._refused: set[Kind] = set()
        self._tallies: Tallies | None = None

    def of(self, plan: Plan) -> Machine | None:
        """For rounds of a plan, of the text that is kept; None where Python has to run them."""
        kind = plan.source, plan.stand.tokens
        jobs = None if kind in self._refused or not is_known(plan.guess.sample) else getattr(plan.stride, "job", None)
        target: p.PassJob | None = None if jobs is None else jobs(plan.stand.tokens)
        if target is None:
            return None
        known = self._made.get(kind)
        if known is None or not known.serves(target):
            known = self._make(plan, target)
        if known is None:
            self._refused.add(kind)
        else:
            self._made[kind] = known
        return known

    def keep(self, sample: Sample | None) -> None:
        """What was made for that one alone; None: nothing."""
        if sample is not self._sample:
            self._sample, self._made, self._refused, self._tallies = sample, {}, set(), None

    def _make(self, plan: Plan, target: p.PassJob) -> Machine | None:
        sample, law = plan.guess.sample, plan.guess.sample.law
        tallies = self._tallies_for(law, plan.stand.tokens)
        slate = Slate.of(plan.stand.tokens, NO_EDITS if tallies is None else tallies.edited)
        drafting = drafting_of(plan.guess, plan.source, slate, target.hidden)
        if drafting is None:
            return None
        randomness: Any = sample.randomness
        coupled = IS_COUPLED[type(sample.parts.verifier)]
        how = law.fused.how  # type: ignore[attr-defined] # a FusedLaw: see plan.is_simple
        rule = Rule(*self._judge.kept(coupled, how, target.logits, slate, randomness))
        return Machine(target, slate, drafting, rule, np.array(sorted(sample.ending.end_ids), np.int64), tallies)

    def _tallies_for(self, law: Any, drafts: int) -> Tallies | None:
        """Of the text, with room for what rounds with so many drafts bring before its law is told of them."""
        if self._tallies is None or self._tallies.room < room_for(drafts):
            self._tallies = tallies_of(law, drafts)
        return self._tallies


def tallies_of(law: Any, drafts: int) -> Tallies | None:
    """What a law edits, with such room; None where it edits nothing."""
    edits = law.edits()
    return None if edits is None else Tallies(edits, room_for(drafts))


def room_for(drafts: int) -> int:
    """Of what rounds with so many drafts bring before their law is told of it."""
    return RECENT_TOKENS + (1 + MOST) * (1 + drafts)


def is_known(sample: Sample) -> bool:
    """Whether compiled code knows the rule and the noise, and what time it is."""
    return HAS_CLOCK and type(sample.parts.verifier) in IS_COUPLED and type(sample.randomness) is PhiloxRandomness


def drafting_of(guess: Guess, source: str, slate: Slate, hidden: NDArray[np.float32] | None) -> Drafting | None:
    """None where who drafts is asked by Python, or somebody else wants to hear what the target says in each round."""
    states = states_of(guess.sample.draft, source)
    own = states.pop(source, None) if source else None
    hearers = hearers_of(states.values())
    if hearers is None:
        return None
    if not source:
        return Drafting(None, None, hearers)
    if not isinstance(own, GuardedState) or own.guard.calls.beside:
        return None
    job = job_of(guess, source, own, slate, hidden)
    return None if job is None else Drafting(job, own, hearers)


def job_of(
    guess: Guess, source: str, state: GuardedState, slate: Slate, hidden: NDArray[np.float32] | None
) -> p.DraftJob | None:
    """The drafter's own, see protocol.DraftsInRow."""
    asked: Any = guess.sources[source].asked  # a guard, or what several guards share
    make, inner = getattr(asked.drafter, "job", None), state.awake()
    if make is None or inner is None:
        return None
    chance = guess.chance(source)
    found: p.DraftJob | None = state.guard.attempt("propose", lambda: make(inner, chance, slate, hidden))
    return found
