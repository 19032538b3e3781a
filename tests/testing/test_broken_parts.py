"""The suites have teeth: a part that breaks its contract in one way fails, and names the check that fails."""

from __future__ import annotations

import numpy as np
import pytest

from generate.mutants import (
    AcceptsByProbabilityAlone,
    ArgmaxMatch,
    ContextLateByOne,
    EmitsTheDraftUncoupled,
    ResidualForgetsOnlyTheToken,
    ResidualFromP,
    RowsShiftedByOne,
    StaleCache,
)
from testing.failures import fails, failures
from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.protocol import Proposal, Purpose, Scores, Verdict
from truedraw.testing import TableDrafter, drafter_checks, engine_checks, law_of, random_table, verifier_checks
from truedraw.testing.scenarios import TableState
from truedraw.testing.trees import SHAPES, TreeDrafter
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.token import TokenVerifier

TABLE = random_table(4, 2, 1)
DRAFT = random_table(3, 1, 2)


def failing(checks) -> set[str]:
    return set(failures(checks, Exception))


class CountsOneTooMany(TokenVerifier):
    def __call__(self, *args):
        verdict = super().__call__(*args)
        return Verdict(verdict.tokens, verdict.num_accepted + 1, verdict.rejected)


class WritesIntoTheLaw(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        verdict = super().__call__(proposal, rows, randomness, position)
        for law in proposal.laws:
            if law is not None:
                law[:] = 0.5
        return verdict


class BelievesEveryLaw(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        return Verdict((randomness.choose(rows[0], Purpose.RESIDUAL, position, 0),), 0, rejected=False)


class NoiseOfTheRound(CoupledVerifier):
    """Exact, but the noise belongs to the round and not to the position."""

    def __call__(self, proposal, rows, randomness, position):
        drawn = ()
        while len(drawn) <= len(proposal):
            drawn = (*drawn, randomness.choose(rows[len(drawn)], Purpose.TARGET, position, len(drawn)))
            if len(drawn) > len(proposal) or drawn[-1] != proposal.tokens[len(drawn) - 1]:
                return Verdict(drawn, len(drawn) - 1, rejected=True)
        raise AssertionError


class WritesIntoARow(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        verdict = super().__call__(proposal, rows, randomness, position)
        rows[0][:] = 1 / len(rows[0])
        return verdict


class NumpysNumbers(TokenVerifier):
    def __call__(self, *args):
        verdict = super().__call__(*args)
        return Verdict(tuple(map(np.int64, verdict.tokens)), verdict.num_accepted, verdict.rejected)


class CallsAllABonus(TokenVerifier):
    def __call__(self, *args):
        verdict = super().__call__(*args)
        return Verdict(verdict.tokens, verdict.num_accepted, rejected=False)


class ResidualOfTheFourthFromP(TokenVerifier):
    def __call__(self, proposal, rows, randomness, position):
        verdict = super().__call__(proposal, rows, randomness, position)
        if not verdict.rejected or verdict.num_accepted != 3:
            return verdict
        last = randomness.choose(rows[3], Purpose.RESIDUAL, position, 99)
        return Verdict((*verdict.tokens[:-1], last), 3, rejected=True)


class SaysNothingOfItself(TokenVerifier):
    exact = "yes"


VERIFIERS = {
    ResidualFromP: "sampled chains",
    ResidualForgetsOnlyTheToken: "sampled chains",
    ResidualOfTheFourthFromP: "sampled chains",
    RowsShiftedByOne: "sampled chains",
    ArgmaxMatch: "sampled chains",
    AcceptsByProbabilityAlone: "sampled chains",
    EmitsTheDraftUncoupled: "certain chains",
    CountsOneTooMany: "verdicts",
    WritesIntoTheLaw: "verdicts",
    WritesIntoARow: "verdicts",
    NumpysNumbers: "verdicts",
    CallsAllABonus: "verdicts",
    BelievesEveryLaw: "refuses",
    NoiseOfTheRound: "one seed, one text",
    SaysNothingOfItself: "declares",
}


@pytest.mark.parametrize("kind", VERIFIERS, ids=lambda kind: kind.__name__)
def test_broken_verifiers(kind) -> None:
    named = [check for check in verifier_checks(kind) if check.name.startswith(VERIFIERS[kind])]
    assert fails(reversed(named), Exception)  # the deepest scenario comes first, and takes longest


class Sampled(TableDrafter):
    def __init__(self):
        super().__init__(DRAFT)


class BeyondTheBudget(Sampled):
    def chain(self, state, budget, randomness):
        return super().chain(state, budget + 1, randomness)


class LawDoesNotSum(Sampled):
    def chain(self, state, budget, randomness):
        proposal = super().chain(state, budget, randomness)
        return Proposal.chain(proposal.tokens.tolist(), [law * 0.9 for law in proposal.laws])


class UnknownTokens(Sampled):
    def chain(self, state, budget, randomness):
        return Proposal.chain([3] * budget)


class OwnChance(Sampled):
    rng = np.random.default_rng()

    def chain(self, state, budget, randomness):
        return Proposal.chain(self.rng.integers(0, 3, budget).tolist())


class ForgetsAState(Sampled):
    def propose(self, states, budgets, randomness):
        return super().propose(states, budgets, randomness)[:-1]


class NoiseOfTheBatch(Sampled):
    """The first state's chance serves all."""

    def propose(self, states, budgets, randomness):
        return super().propose(states, budgets, [randomness[0]] * len(states))


class OneMemory(NgramDrafter):
    """All texts share one index."""

    def open(self, tokens, law):
        self.shared = getattr(self, "shared", None) or super().open([], law)
        self.shared.commit(tokens)
        return self.shared


class WrongLaw(Sampled):
    """Drafts the likeliest token and reports the law it was not drawn from."""

    def chain(self, state, budget, randomness):
        tokens, laws = [], []
        for _ in range(budget):
            laws.append(self.law_after(state, [*state.text, *tokens]))
            tokens.append(int(laws[-1].argmax()))
        return Proposal.chain(tokens, laws)


class SeenTokens(TreeDrafter):
    """Two siblings without replacement, from the tokens of the text, all alike."""

    def __init__(self):
        super().__init__(
            {(): [1 / 3] * 3}, next(shape for shape in SHAPES if shape.name == "siblings without replacement")
        )

    def law_after(self, state, text):
        law = np.bincount(np.unique(text), minlength=3).astype(float)
        return law / law.sum()


class ForgetsLongCommits(Sampled):
    """Draws anew where it has drawn, for it takes the text for shorter than it is."""

    class State(TableState):
        known = 0

        def commit(self, tokens, scores):
            super().commit(tokens, scores)
            self.known += len(tokens) if len(tokens) > 1 else 0

    def open(self, tokens, law):
        return self.State(tokens, law)

    def chain(self, state, budget, randomness):
        behind = TableState(state.text[: len(state.text) - state.known], state.law)
        return super().chain(behind, budget, randomness)


class LawOfTheFirstSibling(SeenTokens):
    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [Proposal(each.tokens, each.parents, each.laws[:1] * len(each)) for each in found]


DRAFTERS = {
    BeyondTheBudget: "budgets",
    LawDoesNotSum: "legal proposals along a text",
    UnknownTokens: "legal proposals along a text",
    OwnChance: "chance is injected",
    ForgetsAState: "budgets",
    NoiseOfTheBatch: "ragged batches",
    OneMemory: "states are apart",
    WrongLaw: "exact law, plain",
    ForgetsLongCommits: "no draw twice",
    LawOfTheFirstSibling: "exact rounds, plain",
}


@pytest.mark.parametrize("kind", DRAFTERS, ids=lambda kind: kind.__name__)
def test_broken_drafters(kind) -> None:
    assert failing(check for check in drafter_checks(kind) if check.name == DRAFTERS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Sampled, SeenTokens], ids=lambda kind: kind.__name__)
def test_a_sampled_drafter_that_is_right(kind) -> None:
    assert failing(drafter_checks(kind)) == set()


class LooksAtTheTargetsNoise(Sampled):
    """Certain drafts by the noise that the target will draw with, as coupled ones are."""

    def chain(self, state, budget, randomness):
        tokens = []
        for depth in range(budget):
            q = self.law_after(state, [*state.text, *tokens])
            tokens.append(randomness.choose(q, Purpose.TARGET, len(state.text) + depth))
        return Proposal.chain(tokens)


def test_noise_that_is_shared_with_the_target_may_be_looked_at_twice() -> None:
    checks = {check.name: check for check in drafter_checks(LooksAtTheTargetsNoise)}
    checks["no draw twice"]()


def test_a_state_that_forgets_is_seen_behind_a_long_round_alone() -> None:
    seen = failing(check for check in drafter_checks(ForgetsLongCommits) if check.name.startswith(("exact", "no draw")))
    assert seen == {"no draw twice", "exact law, round behind round", "exact law, behind forced tokens"}


def test_a_wrong_law_shows_over_some_targets_only() -> None:
    """Texts of three tokens say nothing of a sibling's law."""
    found = failing(drafter_checks(LawOfTheFirstSibling))
    rounds = {f"exact rounds, {name}" for name in ("plain", "hot", "cold", "top_k", "top_p")}
    long = {f"long drafts follow their laws, {name}" for name in ("plain", "cold", "looking ahead")}
    long |= {"drafts behind a long text follow their laws", "the last of many texts follows its laws"}
    assert found == {*rounds, *long, "exact law, round behind round"}


class ForkSharesTheText(TabularEngine):
    def fork(self, sequence, n):
        return [sequence] * n


class TreesAreChains(TabularEngine):
    def _rows(self, work):
        chain = Proposal.chain(work.proposal.tokens.tolist())
        return super()._rows(type(work)(work.sequence, chain))


class LosesACommit(TabularEngine):
    """Keeps only as much of a commit as the last pass had drafted."""

    def open(self, tokens):
        return Forgetful(tokens)


class Forgetful(TabularSequence):
    def commit(self, tokens):
        super().commit(tokens[:1])


class LeaksBetweenTexts(TabularEngine):
    """All rows of a pass move with the number of texts in it."""

    def forward(self, works):
        scores = super().forward(works)
        return [type(each)(each.logits * (1 + 1e-9 * (len(works) - 1))) for each in scores]


class HalfPrecision(TabularEngine):
    def forward(self, works, fills=()):
        return [type(each)(each.logits.astype(np.float16)) for each in super().forward(works, fills)]


class LosesTheEighthDraft(TabularEngine):
    def _rows(self, work):
        rows = super()._rows(work)
        if len(rows) > 7:
            rows[7] = rows[6]
        return rows


class WrongInCrowds(TabularEngine):
    """From the tenth text of a pass on."""

    def forward(self, works, fills=()):
        scores = super().forward(works, fills)
        return [type(each)(each.logits * (1 + 1e-9 * (place > 8))) for place, each in enumerate(scores)]


class StaleBehindSeven(TabularEngine):
    """A commit of seven drafts and a token more leaves the row before."""

    def open(self, tokens):
        return Late(tokens)

    def _rows(self, work):
        rows = super()._rows(work)
        if getattr(work.sequence, "stale", False):
            rows[0] = super()._rows(type(work)(TabularSequence(work.sequence.tokens[:-1])))[0]
        return rows


class Late(TabularSequence):
    stale = grown = False

    def commit(self, tokens):
        super().commit(tokens)
        self.stale, self.grown = len(tokens) == 8, True


class WrongInLongTexts(StaleBehindSeven):
    """Which came there by commits."""

    def _rows(self, work):
        long = getattr(work.sequence, "grown", False) and len(work.sequence.tokens) > 400
        return super()._rows(work) * (1 + 1e-9 * long)


class RunsOut(TabularEngine):
    """Ten texts at most, and closing gives none back."""

    left = 10

    def open(self, tokens):
        self.left -= 1
        if self.left < 0:
            raise MemoryError
        return super().open(tokens)


class PastTheContext(TabularEngine):
    def forward(self, works):
        return [type(each)(each) for each in map(self._rows, works)]


ENGINES = {
    ForkSharesTheText: "forks go their own ways",
    TreesAreChains: "trees equal their paths",
    LosesACommit: "commit by agreement",
    LeaksBetweenTexts: "ragged batches",
    StaleCache: "commit by agreement",
    RunsOut: "pages come back",
    HalfPrecision: "sizes",
    LosesTheEighthDraft: "chains equal plain decoding",
    WrongInCrowds: "many texts in one pass",
    StaleBehindSeven: "commit by agreement",
    ContextLateByOne: "chains equal plain decoding",
    PastTheContext: "the context's end",
}


@pytest.mark.parametrize("kind", ENGINES, ids=lambda kind: kind.__name__)
def test_broken_engines(kind) -> None:
    (named,) = (check for check in engine_checks(lambda: kind(TABLE, context_length=64)) if check.name == ENGINES[kind])
    assert fails([named], Exception)


def test_an_engine_that_is_wrong_in_long_texts() -> None:
    checks = engine_checks(lambda: WrongInLongTexts(TABLE, context_length=1024))
    assert fails([check for check in checks if check.name == "long texts"], Exception)


class RoomForFour(TabularEngine):
    def fits(self, works):
        return len(works) <= 4


def test_engines_of_which_too_little_could_be_seen() -> None:
    for check in engine_checks(lambda: TabularEngine(TABLE, context_length=31)):
        with pytest.raises(AssertionError, match="a context of 31 tokens cannot be checked; give 32 or more"):
            check()
    assert failing(engine_checks(lambda: TabularEngine(TABLE, context_length=32))) == set()
    assert failing(engine_checks(lambda: RoomForFour(TABLE, context_length=64))) >= {"many texts in one pass"}


def test_what_remembers_earlier_runs_is_told_so() -> None:
    calls = []

    def forgets_a_token(walker):
        calls.append(walker)
        return walker.sample(0).choose(np.ones(2 if len(calls) == 1 else 1), Purpose.DRAFT, 0)

    with pytest.raises(AssertionError, match="something remembers what was run before"):
        law_of(forgets_a_token)


class SaysLists(TabularEngine):
    def forward(self, works, fills=()):
        return [Scores(scores.logits.tolist()) for scores in super().forward(works, fills)]


def test_logits_that_are_no_array_are_told_so() -> None:
    sizes = [check for check in engine_checks(lambda: SaysLists(TABLE, context_length=64)) if check.name == "sizes"]
    assert failures(sizes, AssertionError) == {"sizes": "logits are a list; give an array of numpy"}
