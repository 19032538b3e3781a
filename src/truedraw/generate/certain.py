"""Tokens that must come, put in front of a proposal: they ride in the pass that scores what follows them.

A grammar often leaves one token only. Such tokens are drafted as certain ones, are always accepted, and cost a row
each instead of a pass each. The drafter goes on behind them where it can. They are the law's doing, not the drafter's:
its statistics leave them out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw.protocol import NOTHING, ROOT, Drafter, DraftState, Law, LooksAhead, Proposal, Randomness

MOST = 64  # in one pass over all samples: further rows cost about what further passes do, and logits take memory

Tokens = tuple[int, ...]


def forced_tokens(laws: Sequence[Law], rooms: Sequence[int]) -> list[Tokens]:
    """What must come next in each text, at most `room` tokens and its share of a pass."""
    share = max(1, MOST // len(laws))
    return [tuple(law.forced(min(room, share))) for law, room in zip(laws, rooms, strict=True)]


def propose(
    drafter: Drafter,
    states: Sequence[DraftState],
    budgets: Sequence[int],
    randomness: Sequence[Randomness],
    certain: Sequence[Tokens],
) -> list[Proposal]:
    """One proposal a state: its certain tokens, then at most `budget` of the drafter's.

    A state that cannot look ahead drafts nothing in a round that begins with certain tokens.
    """
    if not any(certain):
        return drafter.propose(states, budgets, randomness)
    ahead = [look_ahead(state, tokens) for state, tokens in zip(states, certain, strict=True)]
    able = [i for i, state in enumerate(ahead) if state is not None]
    drafts = drafter.propose(
        [state for state in ahead if state is not None], [budgets[i] for i in able], [randomness[i] for i in able]
    )
    behind = dict(zip(able, drafts, strict=True))
    return [join(tokens, behind.get(i, NOTHING)) for i, tokens in enumerate(certain)]


def look_ahead(state: DraftState, tokens: Tokens) -> DraftState | None:
    """The state behind the tokens, None where it cannot be had."""
    if not tokens:
        return state
    return state.ahead(tokens) if isinstance(state, LooksAhead) else None


def join(tokens: Tokens, behind: Proposal) -> Proposal:
    """A chain of certain tokens, and a tree at its end."""
    if not tokens:
        return behind
    chain, shift = Proposal.chain(tokens), len(tokens)
    parents = np.where(behind.parents == ROOT, shift - 1, behind.parents + shift)
    return Proposal(
        np.concatenate((chain.tokens, behind.tokens)),
        np.concatenate((chain.parents, parents)),
        (*chain.laws, *behind.laws),
    )
