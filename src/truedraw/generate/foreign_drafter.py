"""Somebody else's drafter as a part of a built-in one: only its own calls are made beside, in a thread of theirs.

One that has not returned in time raises TimeoutError, here and at every later call, and the guard of the whole ends
drafting. What the thread does from then on is that drafter's own affair: it was given no other part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truedraw.draft.behind import look_ahead
from truedraw.draft.site import close
from truedraw.generate.calls import Calls
from truedraw.generate.own_copy import own_copy
from truedraw.generate.proposals_of import proposals_of
from truedraw.protocol import NOTHING, Drafter, DraftState, Law, Proposal, Randomness, Scores
from truedraw.verify.proposal_parts import check_kinds


class ForeignState:
    """protocol.DraftState around the drafter's own; None where that cannot look ahead."""

    def __init__(self, calls: Calls, inner: DraftState | None) -> None:
        self.calls, self.inner = calls, inner

    def commit(self, tokens: Sequence[int], scores: Scores) -> None:
        """Append."""
        inner = self.inner
        if inner is not None:
            self.calls.timed(lambda: inner.commit(tokens, scores))

    def ahead(self, tokens: Sequence[int]) -> ForeignState:
        """protocol.LooksAhead; a state that cannot look ahead drafts nothing there."""
        inner = self.inner
        if inner is None:
            return ForeignState(self.calls, None)
        return ForeignState(self.calls, self.calls.timed(lambda: look_ahead(inner, tokens))[0])

    def close(self) -> None:
        """Give back what the state holds; nothing can be asked of one that is stuck."""
        if not self.calls.stuck:
            self.calls.timed(lambda: close(self.inner))


class ForeignDrafter:
    """protocol.Drafter around another one, whose calls `calls` makes."""

    def __init__(self, drafter: Drafter, calls: Calls) -> None:
        self.drafter, self.calls = drafter, calls

    def open(self, tokens: Sequence[int], law: Law) -> ForeignState:
        """Start on a text."""
        return ForeignState(self.calls, self.calls.timed(lambda: self.drafter.open(tokens, law))[0])

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """The drafter's proposals, in memory of their own: whoever is composed of it looks at them."""
        able = [i for i, state in enumerate(states) if state.inner is not None]
        if not able:
            return [NOTHING] * len(states)
        inner, asked = [states[i].inner for i in able], [budgets[i] for i in able]
        chances = [randomness[i] for i in able]
        found, _ = self.calls.timed(lambda: [*map(own_copy, proposals_of(self.drafter, inner, asked, chances))])
        for proposal in found:
            check_kinds(proposal)
        proposals = dict(zip(able, found, strict=True))
        return [proposals.get(i, NOTHING) for i in range(len(states))]

    def close(self) -> None:
        """Give back what the drafter holds; nothing can be asked of one that is stuck."""
        if not self.calls.stuck:
            self.calls.timed(lambda: close(self.drafter))
