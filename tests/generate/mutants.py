"""Known bugs, each seen in a public system, written as small changes to production code. The oracle must catch all.

A mutant is a way to run a scenario; it is killed when the enumerated law differs from the target's, when two draws
share a name, or when an invariant of the randomness breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attacks.argmax_match import ArgmaxMatch
from attacks.best_of_two_drafts import RetriesUnlikelyDrafts
from attacks.dropped_by_its_own_confidence import DropsByOwnConfidence
from attacks.greedy_draft_as_sample import GreedyWithSoftmaxLaw
from attacks.residual_from_p import ResidualFromP
from attacks.row_of_the_rejected_draft import ResidualOfNextRow
from attacks.skewed import Skewed
from attacks.stale_cache import StaleCache
from attacks.target_before_truncation import UntransformedTarget
from attacks.unmasked_bonus import UntransformedBonus
from enumeration import SampleWalker, Walker
from generate.runs import run
from known_laws import Scenario, TableDrafter
from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.generate.ending import Ending
from truedraw.protocol import Proposal, Purpose, Verdict
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.token import TokenVerifier, residual

Runner = Callable[[Scenario, Walker], object]
HALF = 0.5


@dataclass(frozen=True)
class Mutant:
    name: str
    runner: Runner

    def __str__(self) -> str:
        return self.name


def with_verifier(rule) -> Runner:
    return lambda scenario, walker: run(scenario, walker, rule())[0]


def with_drafter(drafter) -> Runner:
    return lambda scenario, walker: run(scenario, walker, TokenVerifier(), drafter(scenario.draft))[0]


class ResidualFromQ(Skewed):
    def left(self, p, q, token, rows, node):
        return np.maximum(q - p, 0) if np.maximum(q - p, 0).sum() else p


class ResidualForgetsOnlyTheToken(Skewed):
    """The rule for certain drafts, used on drafts that were sampled."""

    def left(self, p, q, token, rows, node):
        return residual(p, None, token)


class RowsShiftedByOne(Skewed):
    def p_of(self, rows, node, proposal):
        return rows[node + 1]


class AcceptsByProbabilityAlone(Skewed):
    """min(1, p) instead of min(1, p / q), while the draft was sampled and the residual is p - q."""

    def accepts(self, p, q, token, randomness, position, node):
        return randomness.accept(p[token], 1.0, Purpose.ACCEPT, position, node)


class Lenient(Skewed):
    def accepts(self, p, q, token, randomness, position, node):
        return randomness.accept(1.3 * p[token], q[token], Purpose.ACCEPT, position, node)


class SharpenedQ(Skewed):
    """q recomputed at another temperature than the one it was sampled at."""

    def accepts(self, p, q, token, randomness, position, node):
        sharp = q**2 / (q**2).sum()
        return randomness.accept(p[token], sharp[token], Purpose.ACCEPT, position, node)


class CoinOfTheDraft(Skewed):
    """The acceptance coin is the number that the draft was drawn with."""

    def accepts(self, p, q, token, randomness, position, node):
        return randomness.accept(p[token], q[token], Purpose.DRAFT, position, node)


class OneCoinForAll(Skewed):
    def accepts(self, p, q, token, randomness, position, node):
        return randomness.accept(p[token], q[token], Purpose.ACCEPT, position, 0)


class SeedOfEveryRound(Skewed):
    """Coins named by their place in the round alone: every round sees the same numbers."""

    def accepts(self, p, q, token, randomness, position, node):
        return randomness.accept(p[token], q[token], Purpose.ACCEPT, 0, node)


class EmitsTheDraftUncoupled(CoupledVerifier):
    """Keeps the draft whenever the target could have drawn it."""

    def __call__(self, proposal, rows, randomness, position):
        if len(proposal) and rows[0][proposal.tokens[0]] > 0:
            return Verdict((int(proposal.tokens[0]),), 0, rejected=False)
        return super().__call__(proposal, rows, randomness, position)


class LawOfAnotherContext(TableDrafter):
    """q of the round's first position, reported for every position."""

    def chain(self, state, budget, randomness):
        proposal = super().chain(state, budget, randomness)
        return Proposal.chain(proposal.tokens.tolist(), [proposal.laws[0]] * budget) if budget else proposal


class ContextLateByOne(TabularEngine):
    """Positions off by one: the model does not see the newest committed token."""

    def _rows(self, work):
        clipped = TabularSequence(list(work.sequence.tokens)[:-1])
        return super()._rows(type(work)(clipped, work.proposal))


class TextAfterTheEnd(Ending):
    """The block is cut before the end token is looked for: tokens after it stay."""

    def cut(self, tokens):
        _, reason = super().cut(tokens)
        return tuple(tokens), reason


class ForgetsEndInsideDraft(Ending):
    """Only a round's last token is looked at."""

    def cut(self, tokens):
        _, reason = super().cut(tokens[-1:])
        self.room -= len(tokens) - 1
        return tuple(tokens), reason or (None if self.room > 0 else "length")


class SameNoise(Walker):
    """Every sample of a prompt draws the same numbers."""

    def sample(self, index: int) -> SampleWalker:
        return SampleWalker(self, 0)


def shared_noise(scenario: Scenario, walker: Walker):
    same = SameNoise(walker.script)
    same.taken, same.options = walker.taken, walker.options
    return run(scenario, same, TokenVerifier(), n=2)[0]


def engine_mutant(kind) -> Runner:
    return lambda scenario, walker: run(scenario, walker, TokenVerifier(), engine=kind(scenario.target))[0]


def ending_mutant(kind) -> Runner:
    return lambda scenario, walker: run(scenario, walker, TokenVerifier(), ending=kind)[0]


def stale_lookup(scenario: Scenario, walker: Walker):
    return run(scenario, walker, TokenVerifier(), NgramDrafter(1, 1), StaleCache(scenario.target), prompt=(0, 1, 0))[0]


VERIFIERS = (
    ResidualFromP, ResidualFromQ, ResidualForgetsOnlyTheToken, ResidualOfNextRow, RowsShiftedByOne, ArgmaxMatch,
    AcceptsByProbabilityAlone, Lenient, SharpenedQ, UntransformedBonus, UntransformedTarget, CoinOfTheDraft,
    OneCoinForAll, SeedOfEveryRound, EmitsTheDraftUncoupled,
)  # fmt: skip
DRAFTERS = (DropsByOwnConfidence, GreedyWithSoftmaxLaw, RetriesUnlikelyDrafts, LawOfAnotherContext)
MUTANTS = [
    *(Mutant(kind.__name__, with_verifier(kind)) for kind in VERIFIERS),
    *(Mutant(kind.__name__, with_drafter(kind)) for kind in DRAFTERS),
    *(Mutant(kind.__name__, engine_mutant(kind)) for kind in (StaleCache, ContextLateByOne)),
    *(Mutant(kind.__name__, ending_mutant(kind)) for kind in (TextAfterTheEnd, ForgetsEndInsideDraft)),
    Mutant("StaleCacheUnderLookup", stale_lookup),
    Mutant("SamplesShareNoise", shared_noise),
]
