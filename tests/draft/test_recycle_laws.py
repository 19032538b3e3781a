"""Drafts made of what the target said before keep its law under every rule, of one sample and of two together.

What they draft was picked and not drawn. Handed over with the probabilities it was picked by, as if it had been, it
would bend the text: such mutants are caught here.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from enumeration import law_of, total_variation
from known_laws import Scenario, lookup, random_table, text_law
from truedraw.draft.lookahead import LookaheadDrafter
from truedraw.draft.recycle import RecycleDrafter
from truedraw.generate.speculation import CHAINS
from truedraw.protocol import Proposal
from truedraw.registry import find, names
from truedraw.testing import run

PROMPT = (0, 1, 0, 2)
ROUNDING = 1e-12
VISIBLE = 0.05
TOKENS = {
    size: Scenario(f"{size} tokens", random_table(size, 1, 90 + size), {}, draft_tokens=3, max_tokens=4)
    for size in (3, 4)
}
PAIR = Scenario("two tokens", random_table(2, 1, 91), {}, draft_tokens=2, max_tokens=4)
MAKERS = {
    "recycle": lambda trees: RecycleDrafter(trees=trees, recycle_min_token_prob=0.0),
    "few recycled": lambda trees: RecycleDrafter(trees=trees, recycle_top_k=2, recycle_max_tokens=2),
    "lookahead": lambda trees: LookaheadDrafter(trees=trees, lookahead_window=2),
    "pairs": lambda trees: LookaheadDrafter(trees=trees, lookahead_ngram=2, lookahead_prompt=False),
}


def made(kind, rule):
    return MAKERS[kind](rule not in CHAINS)


@pytest.mark.parametrize("size", TOKENS)
@pytest.mark.parametrize("rule", names("verifiers"))
@pytest.mark.parametrize("kind", MAKERS)
def test_the_law_of_a_text(kind, rule, size) -> None:
    scenario = TOKENS[size]
    law = law_of(lambda walker: run(scenario, walker, find("verifiers", rule)(), made(kind, rule), prompt=PROMPT)[0])
    assert total_variation(law, text_law(scenario, PROMPT)) < ROUNDING


@pytest.mark.parametrize("rule", ["token", "traversal", "coupled"])
@pytest.mark.parametrize("kind", MAKERS)
def test_two_samples_that_teach_one_another_are_independent(kind, rule) -> None:
    one = text_law(PAIR, (0,))
    both = {(a, b): p * q for a, p in one.items() for b, q in one.items()}
    law = law_of(lambda walker: run(PAIR, walker, find("verifiers", rule)(), made(kind, rule), n=2, prompt=(0,)))
    assert total_variation(law, both) < ROUNDING


class PickedAsDrawn(RecycleDrafter):
    """The mutant: the likeliest token of a row, handed over with the row as its law."""

    def propose(self, states, budgets, randomness):
        return [self.with_rows(each) for each in super().propose(states, budgets, randomness)]

    def with_rows(self, proposal):
        sure = proposal.confidence if len(proposal) else ()
        laws = []
        for token, chance in zip(proposal.tokens.tolist(), sure, strict=True):
            q = np.full(3, (1 - chance) / 2)
            q[token] = chance
            laws.append(q)
        return Proposal.chain(proposal.tokens, laws)


class PickedAsTarget(LookaheadDrafter):
    """The mutant: what the pool holds, handed over with the target's own law: it is always kept."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [self.with_p(state.tail, each.tokens.tolist()) for state, each in zip(states, found, strict=True)]

    def with_p(self, text, tokens):
        laws = [np.array(lookup(TOKENS[3].target, [*text, *tokens[:i]])) for i in range(len(tokens))]
        return Proposal.chain(tokens, laws)


@pytest.mark.parametrize("rule", ["token", "block", "traversal"])
@pytest.mark.parametrize("mutant", [PickedAsDrawn, PickedAsTarget])
def test_what_was_picked_and_is_said_to_be_drawn_is_caught(mutant, rule) -> None:
    law = law_of(partial(of_one, mutant, rule))
    assert total_variation(law, text_law(TOKENS[3], PROMPT)) > VISIBLE


def of_one(mutant, rule, walker):
    return run(TOKENS[3], walker, find("verifiers", rule)(), mutant(), prompt=PROMPT)[0]
