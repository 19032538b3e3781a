"""The exact law of whole runs while a head goes on learning from them, and a mutant that learns within a round."""

from __future__ import annotations

import numpy as np
import pytest

from draft.given_trees import Given, size
from draft.head.refit.learning_heads import ShowingCell, hurry, learner, learning_head
from draft.head.seeing import (
    ENDLESS,
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
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head.refit.learning import Refit
from truedraw.protocol import ROOT, Proposal
from truedraw.registry import find
from truedraw.testing import run

ONE, CHAIN = (((0, 1),),), (((0, 1),), ((0, 1),))
TREES = {"two": (((0, 2),),), "behind the second": (((0, 2),), ((1, 1),))}
SHORT = Scenario("short", TARGET, {}, draft_tokens=1, max_tokens=5)
QUARTERS = {(): [0.5, 0.25, 0.25], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.5, 0.25], (2,): [0.75, 0.0, 0.25]}


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    hurry(monkeypatch)


def versions(drafters) -> set[float]:
    """What the corrections were that branches drafted with."""
    return {each for drafter in drafters for each in drafter.refit.steps}


def walked(make, rule="traversal", drafted=1, **more):
    """Three rounds, of which the first drafts nothing and the third drafts with what the second taught."""
    drafters = []

    def watched():
        drafters.append(make())
        return drafters[-1]

    found, law = law_of_rounds(Scenario("three rounds", TARGET, {}, {}, drafted, ENDLESS), watched, rule, 3, **more)
    assert total_variation(found, law) < ROUNDING
    assert len(versions(drafters)) > 1


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive"])
def test_the_law_is_kept_while_it_learns(rule) -> None:
    walked(lambda: learning_head(trees=Given(ONE)), rule)


def test_whole_texts_keep_the_law_while_it_learns() -> None:
    """Of which each goes on for as many rounds as it takes."""
    drafters = []
    found = law_of_text(SHORT, lambda: learning_head(trees=Given(ONE)), watch=drafters)
    assert total_variation(found, text_law(SHORT, PROMPT)) < ROUNDING
    assert len(versions(drafters)) > 1
    assert max(len(drafter.refit.steps) for drafter in drafters) > 1


def test_with_the_targets_noise_the_law_is_kept_while_it_learns() -> None:
    drafters = []
    scenario = Scenario("quarters", QUARTERS, {}, draft_tokens=1, max_tokens=4)
    make = lambda: learning_head(trees=Given(ONE), coupled=True)  # noqa: E731
    found = law_of_text(scenario, make, "coupled", watch=drafters, kind=CoupledWalker)
    assert total_variation(found, text_law(scenario, PROMPT)) < ROUNDING
    assert len(versions(drafters)) > 1


@pytest.mark.parametrize(
    ("shape", "rule"), [("two", "traversal"), ("two", "recursive"), ("behind the second", "recursive")]
)
def test_trees_keep_the_law_while_it_learns(shape, rule) -> None:
    walked(lambda: learning_head(trees=Given(TREES[shape])), rule, size(TREES[shape]))


def test_a_bias_alone_keeps_the_law() -> None:
    """Of a cell that shows nothing."""
    walked(lambda: learning_head(refit=learner(TableCell(), 0), trees=Given(ONE)))


class Second:
    """The chance of another sample, for a run of one."""

    def __init__(self, walker) -> None:
        self.walker = walker

    def sample(self, index):
        return self.walker.sample(1 + index)


def test_a_text_that_drafts_with_what_another_taught_is_independent_of_it() -> None:
    scenario, drafters = Scenario("two", random_table(2, 1, 43), {}, draft_tokens=1, max_tokens=3), []
    engine, table = SeeingEngine(scenario.target), random_table(2, 2, 44)

    def in_turn(walker):
        drafters.append(first := learning_head(refit=learner(ShowingCell(table, (0, 1)), 2), trees=Given(ONE), vocab=2))
        rule = find("verifiers", "traversal")()
        (one,) = run(scenario, walker, rule, first, engine, prompt=PROMPT)
        second = learning_head(refit=first.refit, trees=Given(ONE), vocab=2)  # of another request
        return one, *run(scenario, Second(walker), rule, second, engine, prompt=PROMPT)

    one = text_law(scenario, PROMPT)
    independent = {(a, b): p * q for a, p in one.items() for b, q in one.items()}
    assert total_variation(law_of(in_turn), independent) < ROUNDING
    assert len(versions(drafters)) > 1


def test_two_texts_side_by_side_are_independent() -> None:
    scenario, drafters = Scenario("two", random_table(2, 1, 43), {}, draft_tokens=1, max_tokens=4), []
    table = random_table(2, 2, 44)

    def make():
        return learning_head(refit=learner(ShowingCell(table, (0, 1)), 2), trees=Given(ONE), vocab=2)

    one = text_law(scenario, PROMPT)
    independent = {(a, b): p * q for a, p in one.items() for b, q in one.items()}
    assert total_variation(law_of_text(scenario, make, n=2, watch=drafters), independent) < ROUNDING
    assert len(versions(drafters)) > 1


# ---------------------------------------------------------------------------------------------------------- mutants


class WithinTheRound(HeadDrafter):
    """Learns once more when it has drawn, and hands over the law that it would draw from now."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        self.refit.waits = False
        self._learner.between_rounds()
        self.refit.waits = True
        return [self.again(state, each) for state, each in zip(states, found, strict=True)]

    def again(self, state, proposal):
        if not len(proposal) or ROOT not in state.seen._said:
            return proposal
        z, raw = state.seen._said[ROOT]
        logits = self.refit.correction.of(z[None], raw[None])[0]
        law = self._reading.law(logits, state.law.now())
        return Proposal(proposal.tokens, proposal.parents, (law, *proposal.laws[1:]), proposal.confidence)


def test_a_head_that_learns_within_a_round_is_caught(monkeypatch) -> None:
    """Nothing is learnt before a round, so that there is something left for it."""
    kept = Refit.between_rounds

    def by_hand(self) -> None:
        self.allowance.passed()
        if not self.waits:
            kept(self)

    monkeypatch.setattr(Refit, "between_rounds", by_hand)
    monkeypatch.setattr(Refit, "waits", True, raising=False)

    def distance(kind):
        return total_variation(*law_of_rounds(case(ONE), lambda: learning_head(kind, trees=Given(ONE)), count=3))

    assert distance(WithinTheRound) > VISIBLE
    assert distance(HeadDrafter) < ROUNDING


def test_the_correction_of_a_call_is_that_of_its_beginning() -> None:
    refit = learner()
    cell, states = refit.cell(), np.eye(3, dtype=np.float32)[[0, 1]]
    features = np.zeros((2, 2, 3), np.float32)
    cell.begin(features, np.array([0, 1]))
    before = cell.step(states, np.array([1, 2]))[1].copy()
    refit._learnt = refit._learnt._replace(bias=refit._learnt.bias + 5)
    refit.steps.append(1.0)
    assert np.array_equal(cell.step(states, np.array([1, 2]))[1], before)
    cell.begin(features, np.array([0, 1]))
    assert np.allclose(cell.step(states, np.array([1, 2]))[1], before + 5)
