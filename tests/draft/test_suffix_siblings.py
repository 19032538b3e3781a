"""Samples that draft for one another are independent: the joint law of two, enumerated.

A sibling's text is drafted as certain tokens. Drafted as if it had been drawn from the law, q = p, it would always be
accepted: every sample would still have the right law, but all would be copies of one another.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from enumeration import law_of, total_variation
from known_laws import Scenario, lookup, random_table, text_law
from truedraw.draft.suffix import SuffixDrafter, SuffixState
from truedraw.protocol import Proposal
from truedraw.registry import find
from truedraw.testing import run

PROMPT = (0,)
ROUNDING = 1e-12
VISIBLE = 0.05
SCENARIO = Scenario("two tokens", random_table(2, 1, 91), {}, draft_tokens=2, max_tokens=4)
RULES = ["token", "coupled", "traversal", "block"]
KINDS = {
    "chain": {"suffix_decoding_max_spec_factor": 2.0},
    "tree": {"suffix_decoding_max_spec_factor": 2.0, "suffix_decoding_tree": True},
}


class Second:
    """The chance of another sample, for a run of one."""

    def __init__(self, walker) -> None:
        self.walker = walker

    def sample(self, index):
        return self.walker.sample(1 + index)


def together(walker, rule, drafter):
    return run(SCENARIO, walker, rule, drafter, n=2, prompt=PROMPT)


def in_turn(walker, rule, drafter):
    first = run(SCENARIO, walker, rule, drafter, prompt=PROMPT)
    return (*first, *run(SCENARIO, Second(walker), rule, drafter, prompt=PROMPT))


ORDERS = {"together": together, "in turn": in_turn}


def independent():
    one = text_law(SCENARIO, PROMPT)
    return {(a, b): p * q for a, p in one.items() for b, q in one.items()}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("rule", "kind"), [*((rule, "chain") for rule in RULES), ("coupled", "tree"), ("traversal", "tree")]
)
def test_two_samples_are_independent(rule, kind, order) -> None:
    law = law_of(lambda walker: ORDERS[order](walker, find("verifiers", rule)(), SuffixDrafter(**KINDS[kind])))
    assert total_variation(law, independent()) < ROUNDING


class Recording(SuffixDrafter):
    """Remembers what was drafted."""

    def __init__(self, **settings) -> None:
        super().__init__(**settings)
        self.drafts = ()

    def propose(self, states, budgets, randomness):
        proposals = super().propose(states, budgets, randomness)
        self.drafts += tuple(tuple(each.tokens.tolist()) for each in proposals)
        return proposals


@pytest.mark.parametrize("order", ORDERS)
def test_they_do_draft_for_one_another(order) -> None:
    """Otherwise the test above would prove nothing of it."""

    def drafts_of(walker, scope):
        drafter = Recording(suffix_decoding_scope=scope, **KINDS["chain"])
        texts = ORDERS[order](walker, find("verifiers", "coupled")(), drafter)
        return texts, drafter.drafts

    alone, shared = (law_of(partial(drafts_of, scope=scope)) for scope in ("text", "prompt"))
    assert total_variation(alone, shared) > 0.2


class KnowsItsText(SuffixState):
    """A state that keeps its text."""

    def __init__(self, views, tokens) -> None:
        super().__init__(views)
        self.text = list(tokens)

    def commit(self, tokens, scores=None) -> None:
        super().commit(tokens, scores)
        self.text += tokens


class DrawnFromP(SuffixDrafter):
    """The mutant: what a sibling wrote, handed over with the target's own law as q."""

    def open(self, tokens, law):
        return KnowsItsText(super().open(tokens, law).views, tokens)

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [self.with_laws(state.text, each.tokens.tolist()) for state, each in zip(states, found, strict=True)]

    def with_laws(self, text, tokens):
        laws = [np.array(lookup(SCENARIO.target, [*text, *tokens[:i]])) for i in range(len(tokens))]
        return Proposal.chain(tokens, laws)


@pytest.mark.parametrize("rule", ["token", "traversal"])
def test_a_siblings_text_with_q_equal_to_p_is_caught(rule) -> None:
    law = law_of(lambda walker: in_turn(walker, find("verifiers", rule)(), DrawnFromP(**KINDS["chain"])))
    assert total_variation(law, independent()) > VISIBLE
