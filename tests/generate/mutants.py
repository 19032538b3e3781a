"""Known bugs, each seen in a public system, written as small changes to production code. The oracle must catch all.

A mutant is a way to run a scenario; it is killed when the enumerated law differs from the target's, when two draws
share a name, or when an invariant of the randomness breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from enumeration import SampleWalker, Walker
from generate.runs import run
from known_laws import Scenario, TableDrafter
from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.generate.ending import Ending
from truedraw.protocol import Proposal, Purpose, Verdict
from truedraw.sampling.law import softmax
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


class Skewed(TokenVerifier):
    """Token-wise verification with one piece at a time replaced."""

    def p_of(self, rows, node, proposal):
        return rows[node]

    def accepts(self, p, q, token, randomness, position, node):
        return randomness.accept(p[token], 1.0 if q is None else q[token], Purpose.ACCEPT, position, node)

    def left(self, p, q, token, rows, node):
        return residual(p, q, token)

    def bonus(self, rows, node):
        return rows[node]

    def __call__(self, proposal, rows, randomness, position):
        kept = ()
        for node, (token, q) in enumerate(zip(proposal.tokens.tolist(), proposal.laws, strict=True)):
            p = self.p_of(rows, node, proposal)
            if not self.accepts(p, q, token, randomness, position, node):
                weights = self.left(p, q, token, rows, node)
                return Verdict(
                    (*kept, randomness.choose(weights, Purpose.RESIDUAL, position, node)), node, rejected=True
                )
            kept = (*kept, token)
        last = randomness.choose(self.bonus(rows, len(kept)), Purpose.RESIDUAL, position, len(kept))
        return Verdict((*kept, last), len(kept), rejected=False)


class ResidualFromP(Skewed):
    def left(self, p, q, token, rows, node):
        return p


class ResidualFromQ(Skewed):
    def left(self, p, q, token, rows, node):
        return np.maximum(q - p, 0) if np.maximum(q - p, 0).sum() else p


class ResidualForgetsOnlyTheToken(Skewed):
    """The rule for certain drafts, used on drafts that were sampled."""

    def left(self, p, q, token, rows, node):
        return residual(p, None, token)


class ResidualOfNextRow(Skewed):
    def left(self, p, q, token, rows, node):
        return residual(rows[node + 1], q, token)


class RowsShiftedByOne(Skewed):
    def p_of(self, rows, node, proposal):
        return rows[node + 1]


class ArgmaxMatch(Skewed):
    def accepts(self, p, q, token, randomness, position, node):
        return token == int(p.argmax())


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


class UntransformedBonus(Skewed):
    def bonus(self, rows, node):
        return softmax(rows._logits[node], 1.0)


class UntransformedTarget(Skewed):
    def p_of(self, rows, node, proposal):
        return softmax(rows._logits[node], 1.0)


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


class DropsByOwnConfidence(TableDrafter):
    """Cuts the chain before a drawn token that its law found unlikely: biased, algorithm L2."""

    def chain(self, state, budget, randomness):
        proposal = super().chain(state, budget, randomness)
        chances = [law[token] for law, token in zip(proposal.laws, proposal.tokens, strict=True)]
        count = next((i for i, chance in enumerate(chances) if chance < HALF), len(chances))
        return Proposal.chain(proposal.tokens[:count].tolist(), proposal.laws[:count])


class GreedyWithSoftmaxLaw(TableDrafter):
    """Drafts the argmax and reports the softmax as its law."""

    def chain(self, state, budget, randomness):
        tokens, laws = [], []
        for _ in range(budget):
            q = self.law_after(state, [*state.text, *tokens])
            tokens.append(int(q.argmax()))
            laws.append(q)
        return Proposal.chain(tokens, laws)


class RetriesUnlikelyDrafts(TableDrafter):
    """Draws twice and keeps the likelier token, reporting the law of one draw."""

    def chain(self, state, budget, randomness):
        if not budget:
            return Proposal.chain(())
        q = self.law_after(state, state.text)
        pair = [randomness.choose(q, Purpose.DRAFT, len(state.text), node) for node in (0, 1)]
        return Proposal.chain([max(pair, key=lambda token: q[token])], [q])


class LawOfAnotherContext(TableDrafter):
    """q of the round's first position, reported for every position."""

    def chain(self, state, budget, randomness):
        proposal = super().chain(state, budget, randomness)
        return Proposal.chain(proposal.tokens.tolist(), [proposal.laws[0]] * budget) if budget else proposal


class StaleSequence(TabularSequence):
    """The cache keeps rejected drafts: the model conditions on what it was once shown."""

    def __init__(self, tokens):
        super().__init__(tokens)
        self.shown = list(tokens)

    def commit(self, tokens):
        self.shown.append(tokens[-1])
        super().commit(tokens)


class StaleCache(TabularEngine):
    def open(self, tokens):
        return StaleSequence(tokens)

    def forward(self, works):
        scores = super().forward([_Shown(work) for work in works])
        for work in works:
            work.sequence.shown += work.proposal.tokens.tolist()
        return scores


class _Shown:
    def __init__(self, work):
        self.proposal = work.proposal
        self.sequence = TabularSequence(work.sequence.shown)


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
