"""A text, and the certain tokens that are drafted for it."""

from __future__ import annotations

PROMPT = [1, 2, 3]


def drafts(drafter, state, budget=4):
    (proposal,) = drafter.propose([state], [budget], [None])
    assert proposal.laws == (None,) * len(proposal)
    return proposal.tokens.tolist()


def with_text(drafter, tokens, prompt=PROMPT):
    state = drafter.open(prompt, None)
    state.commit(tokens)
    return state
