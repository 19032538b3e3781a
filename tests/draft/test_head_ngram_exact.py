"""The exact law of texts drafted by a head and counts: every branch of whole rounds and runs, and mutants."""

from __future__ import annotations

import numpy as np
import pytest

from draft.blended import both, counted
from draft.head.seeing import (
    KNOWN,
    PROMPT,
    ROUNDING,
    TARGET,
    VISIBLE,
    SeeingEngine,
    TableCell,
    case,
    law_of_rounds,
    law_of_text,
)
from enumeration import law_of, total_variation
from generate.coupled_noise import CoupledWalker
from known_laws import Scenario, random_table, text_law
from truedraw.draft import gains
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head_ngram import HeadNgramDrafter
from truedraw.draft.head_ngram_weights import FIRST, Weights
from truedraw.draft.knobs import Knobs
from truedraw.draft.siblings import Settled
from truedraw.draft.trees import Trees
from truedraw.errors import BadProposal
from truedraw.protocol import Proposal, SparseLaw
from truedraw.registry import find
from truedraw.testing import run

CHAIN = (((0, 1),), ((0, 1),), ((0, 1),))
TREES = {
    "two": (((0, 2),),),
    "behind the second": (((0, 2),), ((1, 2),)),
    "two levels": (((0, 2),), ((0, 2), (1, 1))),
}
QUARTERS = {(): [0.5, 0.25, 0.25], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.5, 0.25], (2,): [0.75, 0.0, 0.25]}


def distance(*args, **more) -> float:
    return total_variation(*law_of_rounds(*args, **more))


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath", "coupled"])
def test_chains_keep_the_law(rule) -> None:
    assert distance(case(CHAIN), lambda: both(CHAIN), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "recursive", "coupled"])
@pytest.mark.parametrize("shape", TREES)
def test_trees_keep_the_law(shape, rule) -> None:
    assert distance(case(TREES[shape]), lambda: both(TREES[shape]), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("params", [{"temperature": 0.6}, {"top_k": 2}, {"top_p": 0.8}], ids=str)
def test_candidates_of_all_tokens_keep_the_law(params, rule) -> None:
    assert distance(case(TREES["two"], params), lambda: both(TREES["two"], KNOWN["all"]), rule) < ROUNDING


@pytest.mark.parametrize("settings", [
    {"draft_temperature": 1.6}, {"draft_top_k": 1}, {"draft_sample_method": "greedy"}, {"draft_stop_below": 0.6},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_laws_of_its_own_keep_the_law(rule, settings) -> None:
    shape = TREES["two"]
    assert distance(case(shape, {"temperature": 0.8}), lambda: both(shape, knobs=Knobs(**settings)), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["coupled", "traversal", "recursive"])
def test_drafts_with_the_targets_noise_keep_the_law_under_every_rule(rule) -> None:
    shape = TREES["two"]
    found = distance(case(shape, target=QUARTERS), lambda: both(shape, coupled=True), rule, kind=CoupledWalker)
    assert found < ROUNDING


# -------------------------------------------------------------------------------------------------- while it learns


@pytest.fixture
def eager(monkeypatch):
    """Every place is believed at once: the weights of the next round are others."""
    for name in ("SOONEST", "SELDOM", "FEW"):
        monkeypatch.setattr(gains, name, 1)


def learning(cell=None, vocab=3, kind=HeadNgramDrafter):
    inner = HeadDrafter.over(cell or TableCell(), Trees(Settled((0.5, 0.2)), 2), vocab)
    return kind.over(inner, counted(vocab, "all"), Weights())


class Second:
    """The chance of another sample, for a run of one."""

    def __init__(self, walker) -> None:
        self.walker = walker

    def sample(self, index):
        return self.walker.sample(1 + index)


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_the_law_is_kept_while_weights_are_learnt(eager, rule) -> None:
    scenario, drafters = Scenario("short", TARGET, {}, draft_tokens=2, max_tokens=4), []
    found = law_of_text(scenario, learning, rule, watch=drafters)
    assert total_variation(found, text_law(scenario, PROMPT)) < ROUNDING
    learnt = {drafter._parts.weights.now() for drafter in drafters}
    assert learnt - {FIRST}  # and they did change


def test_a_sample_that_learns_from_another_is_independent_of_it(eager) -> None:
    """Its weights are those that the other left, and its counts are of the other's text as well."""
    scenario = Scenario("two", random_table(2, 1, 43), {}, draft_tokens=1, max_tokens=4)
    engine, table, began = SeeingEngine(scenario.target), random_table(2, 2, 44), []

    def in_turn(walker):
        drafter, rule = learning(TableCell(table, (0, 1)), 2), find("verifiers", "traversal")()
        (first,) = run(scenario, walker, rule, drafter, engine, prompt=PROMPT)
        began.append(drafter._parts.weights.now())
        return first, *run(scenario, Second(walker), rule, drafter, engine, prompt=PROMPT)

    one = text_law(scenario, PROMPT)
    independent = {(a, b): p * q for a, p in one.items() for b, q in one.items()}
    assert total_variation(law_of(in_turn), independent) < ROUNDING
    assert len(set(began)) > 1


# ---------------------------------------------------------------------------------------------------------- mutants


def reported(proposal, laws) -> Proposal:
    return Proposal(proposal.tokens, proposal.parents, tuple(laws), proposal.confidence)


def powered(q, power) -> SparseLaw:
    weights = q.weights**power
    return SparseLaw(q.tokens, weights / weights.sum(), q.vocab_size)


class Whole(HeadNgramDrafter):
    """Draws without replacement and hands over the law of a first candidate for all of them."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [reported(p, p.laws[:1] * len(p)) for p in found]


class HeadAlone(HeadNgramDrafter):
    """Draws from both and hands over the law of the head."""

    def _law(self, state, weights, place, spot, said):
        drawn, own = super()._law(state, weights, place, spot, said), self._head.reading.law(said, place.law)
        self.own = own
        return drawn

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [reported(p, [self.own, *p.laws[1:]]) if len(p) else p for p in found]


class Late(HeadNgramDrafter):
    """Draws with the weights of one round, and hands over the law of other ones."""

    def _law(self, state, weights, place, spot, said):
        self.later = super()._law(state, [0.95] * len(weights), place, spot, said)
        return super()._law(state, [0.02] * len(weights), place, spot, said)

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [reported(p, [self.later, *p.laws[1:]]) if len(p) else p for p in found]


class Anticipating(HeadNgramDrafter):
    """The law that it hands over depends on the token that was drawn."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [reported(p, [powered(q, 0.5 if token else 2.0)
                             for q, token in zip(p.laws, p.tokens.tolist(), strict=True)]) for p in found]  # fmt: skip


class Redrawing(HeadNgramDrafter):
    """Drops a tree whose first token its law thinks unlikely."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [p if not len(p) or p.laws[0][int(p.tokens[0])] > 0.5 else p.only(np.array([], np.int64)) for p in found]


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("mutant", [Whole, HeadAlone, Late, Anticipating, Redrawing])
def test_mutants_are_caught(mutant, rule) -> None:
    shape = TREES["two"] if mutant is Whole else (((0, 1),),)
    assert distance(case(shape), lambda: both(shape, KNOWN["all"], mutant), rule) > VISIBLE


def test_a_token_that_the_law_handed_over_lacks_is_refused() -> None:
    with pytest.raises(BadProposal):
        distance(case((((0, 1),),)), lambda: both((((0, 1),),), KNOWN["two of three"], HeadAlone))
