"""Drafters that several requests share: one call for all their texts, and what one wrote is known to the others.

Every request has a guard of its own, so what goes wrong with its texts ends drafting for it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from truedraw.draft.several import SeveralDrafters, Source
from truedraw.draft.site import close
from truedraw.generate.calls import Calls
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.generate.keys import OFF, arguments, given_by_run
from truedraw.generate.proposals_of import proposals_of
from truedraw.generate.speculation import Speculation
from truedraw.handlers import pass_on
from truedraw.protocol import NOTHING, Drafter, DraftState, Law, Proposal, Randomness, Verifier

MOST_REQUESTS = 64  # through one draft model's drafter, which holds the prompts it has seen until it is closed
MOST_KINDS = 64  # of settings remembered; further ones push out the oldest


class SharedDrafter:
    """Proposes for the texts of many guards that stand before one drafter; gives back what that holds after the last.

    The loop asks this object; a request's drafter is its guard.
    """

    def __init__(self, drafter: Drafter, calls: Calls | None = None) -> None:
        self.drafter = drafter
        self.calls = calls or Calls()
        self._begun = self._ended = 0
        self._retired = self._was_late = False

    @property
    def num_requests(self) -> int:
        """That have ever been guarded."""
        return self._begun

    def guard(self, vocab_size: int) -> GuardedDrafter:
        """The drafter of one more request; to be closed when that has ended."""
        self._begun += 1
        return GuardedDrafter(Borrowed(self), vocab_size, self.calls)

    def open(self, tokens: Sequence[int], law: Law) -> DraftState:
        """As the drafter."""
        return self.drafter.open(tokens, law)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """In one call; where that fails, or took too long, request by request: the guards see whose fault it was."""
        if self._was_late:
            self._was_late = False
            return one_by_one(states, budgets, randomness)
        able = [i for i, state in enumerate(states) if not state.is_off]
        if not able:
            return [NOTHING] * len(states)
        inner, asked = [states[i].awake() for i in able], [budgets[i] for i in able]
        chances = [randomness[i] for i in able]
        try:
            found, seconds = self.calls.timed(lambda: proposals_of(self.drafter, inner, asked, chances))
            proposals = dict(zip(able, found, strict=True))
        except Exception as error:  # a plug-in may raise anything
            pass_on(error)
            return one_by_one(states, budgets, randomness)
        checked = {i: states[i].guard.checked(proposal, budgets[i]) for i, proposal in proposals.items()}
        self._took({id(states[i].guard): states[i].guard for i in able}, seconds)
        return [checked.get(i, NOTHING) for i in range(len(states))]

    def _took(self, guards: Mapping[int, GuardedDrafter], seconds: float) -> None:
        """A call for these requests came back after so long."""
        if len(guards) == 1:
            next(iter(guards.values())).took("propose", seconds)
        else:
            self._was_late = seconds > self.calls.limit_seconds

    def ended(self) -> None:
        """A request has ended."""
        self._ended += 1
        self._close()

    def retire(self) -> None:
        """No more requests will come."""
        self._retired = True
        with suppress(Exception):  # nobody is left whom it could concern
            self.calls.timed(self._close)

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
        self._closed = False

    def drafters(self, spec: Speculation, verifier: Verifier, drafts: DraftModels) -> tuple[Drafter, Drafter]:
        """A request's own drafter, and the one to be asked for all who share it."""
        if spec.method == OFF:
            own = spec.drafter(verifier, drafts)
            return own, own
        if parts := spec.parts(drafts.auto_sources):
            several = SeveralDrafters.of(self._made(parts, verifier, drafts))
            return several, several
        shared = self._find(spec, verifier, drafts)
        guard = shared.guard(drafts.vocab_size)
        if self._closed:  # by another thread: this request will be the last one
            shared.retire()
        return guard, shared

    def close(self) -> None:
        """No more requests will come."""
        self._closed = True
        while self._shared:
            self._shared.pop()[-1].retire()

    def _made(self, parts: Mapping[str, Speculation], verifier: Verifier, drafts: DraftModels) -> dict[str, Source]:
        """All of them; where one cannot be had, those before it are given back."""
        made: dict[str, Source] = {}
        try:
            for name, part in parts.items():
                made[name] = Source(*self.drafters(part, verifier, drafts))
        except BaseException:
            for source in made.values():
                close(source.drafter)
            raise
        return made

    def _find(self, spec: Speculation, verifier: Verifier, drafts: DraftModels) -> SharedDrafter:
        for entry in self._shared:
            if entry[:2] == (spec, verifier.coupled):
                if entry[2].calls.is_usable and (not holds_texts(spec) or entry[2].num_requests < MOST_REQUESTS):
                    return entry[2]
                self._shared.remove(entry)
                entry[2].retire()
                break
        guarded = spec.drafter(verifier, drafts)
        if isinstance(guarded, GuardedDrafter):
            shared = SharedDrafter(guarded.drafter, guarded.calls)
        else:
            shared = SharedDrafter(guarded)
        self._shared.append((spec, verifier.coupled, shared))
        if len(self._shared) > MOST_KINDS:
            self._shared.pop(0)[-1].retire()
        return shared


def holds_texts(spec: Speculation) -> bool:
    """Whether a draft model may be behind it, whose texts take room until it is closed."""
    return spec.model is not None or bool(
        {"inner", "models"} & {*given_by_run(spec.method)} & {*arguments(spec.method)}
    )
