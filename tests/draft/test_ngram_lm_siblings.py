"""Samples that count one another's text are independent: the joint law of two, enumerated, and mutants that are not."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from enumeration import law_of, total_variation
from generate.coupled_noise import CoupledWalker
from known_laws import Scenario, random_table, text_law
from truedraw.draft.ngram_lm import NgramLMDrafter
from truedraw.protocol import Proposal, SparseLaw
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import run

PROMPT = (0, 1)
ROUNDING = 1e-12
VISIBLE = 0.01
SCENARIO = Scenario("two tokens", random_table(2, 1, 91), {}, draft_tokens=1, max_tokens=3)
LONGER = Scenario("two drafts", random_table(2, 1, 91), {}, {"temperature": 0.6}, draft_tokens=2, max_tokens=3)
QUARTERS = Scenario(
    "in quarters", {(): [0.5, 0.5], (0,): [0.25, 0.75], (1,): [0.75, 0.25]}, {}, draft_tokens=2, max_tokens=3
)
RULES = ["token", "block", "traversal"]


class Second:
    """The chance of another sample, for a run of one."""

    def __init__(self, walker) -> None:
        self.walker = walker

    def sample(self, index):
        return self.walker.sample(1 + index)


def together(walker, rule, drafter, scenario=SCENARIO):
    return run(scenario, walker, rule, drafter, n=2, prompt=PROMPT)


def in_turn(walker, rule, drafter, scenario=SCENARIO):
    first = run(scenario, walker, rule, drafter, prompt=PROMPT)
    return (*first, *run(scenario, Second(walker), rule, drafter, prompt=PROMPT))


ORDERS = {"together": together, "in turn": in_turn}


def independent():
    one = text_law(SCENARIO, PROMPT)
    return {(a, b): p * q for a, p in one.items() for b, q in one.items()}


def joint(order, rule, kind=NgramLMDrafter, scope="prompt"):
    """Every branch begins with a drafter that has seen nothing."""
    return law_of(lambda walker: ORDERS[order](walker, find("verifiers", rule)(), kind(2, ngram_lm_online=scope)))


def alone(kind, rule, scenario=LONGER, walker=None, **more):
    """How far the law of one sample is from the target's."""
    law = law_of(
        lambda chance: run(scenario, chance, find("verifiers", rule)(), kind(2, **more), prompt=PROMPT)[0],
        *([] if walker is None else [walker]),
    )
    return total_variation(law, text_law(scenario, PROMPT))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", [*RULES, "coupled"])
@pytest.mark.parametrize("scope", ["prompt", "all"])
def test_two_samples_are_independent(scope, rule, order) -> None:
    assert total_variation(joint(order, rule, scope=scope), independent()) < ROUNDING


class Recording(NgramLMDrafter):
    """Remembers the laws it drew from."""

    def __init__(self, *args, **settings) -> None:
        super().__init__(*args, **settings)
        self.laws = ()

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        self.laws += tuple(round(float(each.laws[0][1]), 9) for each in found if len(each))
        return found


@pytest.mark.parametrize("order", ORDERS)
def test_they_do_learn_from_one_another(order) -> None:
    """Otherwise the test above would prove nothing of it."""

    def laws_of(walker, scope):
        drafter = Recording(2, ngram_lm_online=scope)
        return ORDERS[order](walker, find("verifiers", "token")(), drafter), drafter.laws

    by_scope = [law_of(partial(laws_of, scope=scope)) for scope in ("text", "prompt")]
    assert total_variation(*by_scope) > 0.2


class Copies(NgramLMDrafter):
    """The mutant: a sibling's token is drafted as it stands there, and handed over as if it had been drawn from q."""

    def open(self, tokens, law):
        state = super().open(tokens, law)
        self.texts = getattr(self, "texts", [])
        state.text = list(tokens)
        state.commit = self.noting(state)
        self.texts.append(state.text)
        return state

    def noting(self, state):
        commit = state.commit

        def noted(tokens, scores=None):
            state.text.extend(tokens)
            commit(tokens, scores)

        return noted

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [self.copied(state, each) for state, each in zip(states, found, strict=True)]

    def copied(self, state, proposal):
        n = len(state.text)
        others = [text for text in self.texts if text is not state.text and len(text) > n and text[:n] == state.text]
        if not others or not len(proposal):
            return proposal
        return Proposal.chain([others[0][n]], proposal.laws[:1])


@pytest.mark.parametrize("rule", ["token", "traversal"])
def test_a_siblings_token_with_the_law_of_a_draw_is_caught(rule) -> None:
    assert total_variation(joint("in turn", rule, Copies), independent()) > VISIBLE


@pytest.mark.parametrize("rule", [*RULES, "coupled"])
def test_one_sample_has_the_targets_law(rule) -> None:
    assert alone(NgramLMDrafter, rule) < ROUNDING


class BeforeTheTemperature(NgramLMDrafter):
    """Hands over the softmax of its logits, whatever it drew from."""

    def propose(self, states, budgets, randomness):
        def untempered(q):
            weights = q.weights ** LONGER.params["temperature"]
            return SparseLaw(q.tokens, weights / weights.sum(), q.vocab_size)

        found = super().propose(states, budgets, randomness)
        return [Proposal(p.tokens, p.parents, tuple(map(untempered, p.laws))) for p in found]


class DropsTheUnlikely(NgramLMDrafter):
    """Keeps a draft token only if q gave it much: the token decides its own fate."""

    def propose(self, states, budgets, randomness):
        return [self.dropped(each) for each in super().propose(states, budgets, randomness)]

    def dropped(self, proposal):
        kept = 0
        while kept < len(proposal) and proposal.laws[kept][proposal.tokens[kept]] > 0.5:
            kept += 1
        return Proposal.chain(proposal.tokens[:kept].tolist(), proposal.laws[:kept])


class LawOfTheNextPlace(NgramLMDrafter):
    """Hands over laws that are late by one."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [Proposal(p.tokens, p.parents, p.laws[1:] + p.laws[:1]) for p in found]


MUTANTS = [BeforeTheTemperature, DropsTheUnlikely, LawOfTheNextPlace]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_caught(mutant, rule) -> None:
    assert alone(mutant, rule) > VISIBLE / 2


@pytest.mark.parametrize("rule", [*RULES, "coupled"])
def test_drafts_with_the_targets_noise_keep_the_law_under_every_rule(rule) -> None:
    assert alone(NgramLMDrafter, rule, QUARTERS, CoupledWalker, coupled=True) < ROUNDING


def test_a_confidence_is_known_before_the_draw() -> None:
    """The same for all tokens that may be drawn at a place."""
    found = {}
    for seed in range(20):
        drafter = NgramLMDrafter(5)
        state = drafter.open([0, 1, 2, 0, 3, 0], SamplingLaw(SamplingParams()))
        (proposal,) = drafter.propose([state], [1], [PhiloxRandomness(seed)])
        found[int(proposal.tokens[0])] = float(proposal.confidence[0])
    assert len(found) > 1
    assert np.ptp(list(found.values())) == 0.0
