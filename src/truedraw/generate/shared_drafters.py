"""Drafters that several requests share: one call for all their texts, and what one wrote is known to the others.

Every request has a guard of its own, so what goes wrong with its texts ends drafting for it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truedraw.generate.draft_model import DraftModels
from truedraw.generate.guarded_drafter import GuardedDrafter, close
from truedraw.generate.speculation import OFF, Speculation
from truedraw.protocol import NOTHING, Drafter, DraftState, Law, Proposal, Randomness, Verifier

MOST_REQUESTS = 64  # through one draft model's drafter, which holds the prompts it has seen until it is closed
MOST_KINDS = 64  # of settings remembered; further ones push out the oldest


class SharedDrafter:
    """Proposes for the texts of many guards that stand before one drafter; gives back what that holds after the last.

    The loop asks this object; a request's drafter is its guard.
    """

    def __init__(self, drafter: Drafter) -> None:
        self.drafter = drafter
        self._begun = self._ended = 0
        self._retired = False

    @property
    def num_requests(self) -> int:
        """That have ever been guarded."""
        return self._begun

    def guard(self, vocab_size: int) -> GuardedDrafter:
        """The drafter of one more request; to be closed when that has ended."""
        self._begun += 1
        return GuardedDrafter(Borrowed(self), vocab_size)

    def open(self, tokens: Sequence[int], law: Law) -> DraftState:
        """As the drafter."""
        return self.drafter.open(tokens, law)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """In one call; where that fails, request by request, so that the guards see whose fault it was."""
        able = [i for i, state in enumerate(states) if state.inner is not None and state.guard.fault is None]
        inner, asked = [states[i].inner for i in able], [budgets[i] for i in able]
        try:
            found = self.drafter.propose(inner, asked, [randomness[i] for i in able]) if able else []
            proposals = dict(zip(able, found, strict=True))
        except Exception:  # a plug-in may raise anything
            return one_by_one(states, budgets, randomness)
        checked = {i: states[i].guard.checked(proposal, budgets[i]) for i, proposal in proposals.items()}
        return [checked.get(i, NOTHING) for i in range(len(states))]

    def ended(self) -> None:
        """A request has ended."""
        self._ended += 1
        self._close()

    def retire(self) -> None:
        """No more requests will come."""
        self._retired = True
        self._close()

    def _close(self) -> None:
        if self._retired and self._begun == self._ended:
            close(self.drafter)


def one_by_one(states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]) -> list[Proposal]:
    """Every guard's own call for its own texts."""
    found: dict[int, Proposal] = {}
    for guard in {id(state.guard): state.guard for state in states}.values():
        own = [i for i, state in enumerate(states) if state.guard is guard]
        proposals = guard.propose([states[i] for i in own], [budgets[i] for i in own], [randomness[i] for i in own])
        found |= dict(zip(own, proposals, strict=True))
    return [found[i] for i in range(len(states))]


class Borrowed:
    """protocol.Drafter: one request's hold on what it shares."""

    def __init__(self, shared: SharedDrafter) -> None:
        self._shared = shared
        self._open = True

    def open(self, tokens: Sequence[int], law: Law) -> DraftState:
        """Start on a text."""
        return self._shared.open(tokens, law)

    def propose(
        self, states: Sequence[DraftState], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """For the texts of this request alone."""
        return self._shared.drafter.propose(states, budgets, randomness)

    def close(self) -> None:
        """Let go. Closing twice is harmless."""
        if self._open:
            self._open = False
            self._shared.ended()


class SharedDrafters:
    """Of one batch: requests with equal settings, judged by rules of one kind, share a drafter."""

    def __init__(self) -> None:
        self._shared: list[tuple[Speculation, bool, SharedDrafter]] = []

    def drafters(self, spec: Speculation, verifier: Verifier, drafts: DraftModels) -> tuple[Drafter, Drafter]:
        """A request's own drafter, and the one to be asked for all who share it."""
        if spec.method == OFF:
            own = spec.drafter(verifier, drafts)
            return own, own
        shared = self._find(spec, verifier, drafts)
        return shared.guard(drafts.vocab_size), shared

    def close(self) -> None:
        """No more requests will come."""
        while self._shared:
            self._shared.pop()[-1].retire()

    def _find(self, spec: Speculation, verifier: Verifier, drafts: DraftModels) -> SharedDrafter:
        for entry in self._shared:
            if entry[:2] == (spec, verifier.coupled):
                if spec.model is None or entry[2].num_requests < MOST_REQUESTS:
                    return entry[2]
                self._shared.remove(entry)
                entry[2].retire()
                break
        guarded = spec.drafter(verifier, drafts)
        shared = SharedDrafter(guarded.drafter if isinstance(guarded, GuardedDrafter) else guarded)
        self._shared.append((spec, verifier.coupled, shared))
        if len(self._shared) > MOST_KINDS:
            self._shared.pop(0)[-1].retire()
        return shared
