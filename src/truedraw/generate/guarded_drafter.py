"""The guard around a drafter: whatever goes wrong in it, the text goes on, and from the next round on exactly.

A proposal is believed when it keeps its contract: a tree in topological order within the budget, tokens that exist,
and for each a probability vector under which it can be drawn. That is two passes over a law and reads no model. At the
first proposal that breaks it, and at the first error, the drafter is switched off for the request: what said one untrue
thing of its draws may say more, and a law that is only almost right would bend the text unseen. What follows is plain
sampling.

Of the proposal that broke it that part is kept which is sound (verify/sound_part.py), because to drop what was drawn
for what was drawn below it is what algorithm L2 forbids. So that round is exact, too, unless a token decided about
itself (it spoilt its own law) or the drafter failed after it had drawn: then the round may lean away from what was
dropped, by no more in total variation than the probability of such a fault. It happens at most once a request, and the
request says so (`fault`). docs/exactness.md lists what cannot be repaired.

A call that took too long (calls.py) is the last one. What it returned is used, for a proposal may not be dropped
because of how long its draws took. Only of a drafter that runs beside the loop, because its code is not ours and may
never return, it is lost: once a request, and nothing can be done about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from truedraw.draft.behind import look_ahead
from truedraw.draft.site import close, told, worths_of
from truedraw.errors import BadProposal, in_words
from truedraw.generate.calls import Calls
from truedraw.generate.own_copy import own_copy
from truedraw.generate.proposals_of import proposals_of
from truedraw.handlers import pass_on
from truedraw.protocol import NOTHING, Drafter, DraftState, Law, Proposal, Randomness, Scores
from truedraw.verify.proposal_parts import no_proposal
from truedraw.verify.proposals import check_for, mark_checked
from truedraw.verify.sound_part import sound_part

Found = TypeVar("Found")


class GuardedState:
    """protocol.DraftState around the drafter's own, made in a call of it; None where there is none any more."""

    def __init__(self, guard: GuardedDrafter, inner: DraftState | None) -> None:
        self.guard, self.inner = guard, inner
        self.dozes = bool(getattr(inner, "dozes", False))
        self.hears_hidden = bool(getattr(inner, "hears_hidden", False))
        self._worths = worths_of(inner)
        self._unheard: list[int] = []  # tokens, without their scores

    @property
    def is_off(self) -> bool:
        """Whether nothing that it is told or asked reaches the drafter."""
        return self.inner is None or self.guard.fault is not None

    def commit(self, tokens: Sequence[int], scores: Scores) -> None:
        """Append."""
        inner = self.awake()
        if inner is not None:
            self.guard.attempt("commit", lambda: inner.commit(tokens, scores))

    def doze(self, tokens: Sequence[int], scores: Scores) -> None:
        """Append in a round behind which nobody is asked: see protocol.Dozes."""
        if self.dozes:
            self._unheard += tokens
        else:
            self.commit(tokens, scores)

    def awake(self) -> Any:
        """The drafter's own state, which has heard all that was written."""
        unheard = self._unheard
        inner: Any = self.inner
        if unheard and inner is not None:
            self._unheard = []
            self.guard.attempt("commit", lambda: inner.commit(unheard))
        return inner

    def worths(self, nodes: int) -> Sequence[tuple[float, int]] | None:
        """protocol.Shapes, where the drafter's state is one; by what that has heard so far."""
        worths = self._worths
        return None if worths is None else self.guard.attempt("worths", lambda: told(worths(nodes), nodes))

    def ahead(self, tokens: Sequence[int]) -> GuardedState:
        """protocol.LooksAhead; a state that cannot look ahead drafts nothing there."""
        inner = self.awake()
        return self.guard.stated("ahead", lambda: look_ahead(inner, tokens))

    def close(self) -> None:
        """Give back what the state holds."""
        self.guard.end(self.awake())


class GuardedDrafter:
    """protocol.Drafter around another one, for a target of `vocab_size` tokens; `calls` makes the calls of it.

    `fault` says in words why it was switched off, None while it was not.
    """

    def __init__(self, drafter: Drafter, vocab_size: int, calls: Calls | None = None) -> None:
        self.drafter, self.vocab_size = drafter, vocab_size
        self.calls = calls or Calls()
        self.fault: str | None = None

    def open(self, tokens: Sequence[int], law: Law) -> GuardedState:
        """Start on a text."""
        return self.stated("open", lambda: self.drafter.open(tokens, law))

    def stated(self, what: str, act: Callable[[], DraftState | None]) -> GuardedState:
        """Around the state that `act` makes, or around none."""
        return self.attempt(what, lambda: self._stated(act())) or GuardedState(self, None)

    def _stated(self, inner: DraftState | None) -> GuardedState:
        try:
            return GuardedState(self, inner)
        except BaseException:
            with suppress(Exception):  # what it says of itself has failed, and is told
                close(inner)
            raise

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """The drafter's proposals, or empty ones."""
        inner = [state.awake() for state in states]  # before the call: a call within one would wait for itself
        if all(state is not None for state in inner):
            return self.attempt("propose", lambda: self._proposed(inner, budgets, randomness)) or [NOTHING] * len(inner)
        able = [i for i, state in enumerate(inner) if state is not None]
        inner = [inner[i] for i in able]
        asked, chances = [budgets[i] for i in able], [randomness[i] for i in able]
        found = self.attempt("propose", lambda: self._proposed(inner, asked, chances))
        proposals = dict(zip(able, found or (), strict=False))
        return [proposals.get(i, NOTHING) for i in range(len(states))]

    def checked(self, proposal: Proposal, budget: int) -> Proposal:
        """A proposal that somebody else has asked the drafter for, or the empty one."""
        return self.attempt("propose", lambda: self._believed(proposal, budget)) or NOTHING

    def close(self) -> None:
        """Give back what the drafter holds."""
        self.end(self.drafter)

    def end(self, part: object) -> None:
        """Close the drafter or a state of it; what goes wrong in that concerns no text."""
        try:
            self.calls.timed(lambda: close(part))
        except Exception as error:
            pass_on(error)
            self.fault = self.fault or fault("close", error)

    def attempt(self, what: str, act: Callable[[], Found]) -> Found | None:
        """What `act` returns, None once something has gone wrong."""
        if self.fault is not None:
            return None
        try:
            found, seconds = self.calls.timed(act)
        except Exception as error:  # a plug-in may raise anything, and none of it may end the text
            pass_on(error)
            self.fault = self.fault or fault(what, error)
            return None
        self.took(what, seconds)
        return found

    def took(self, what: str, seconds: float) -> None:
        """A call came back after so long."""
        if seconds > self.calls.limit_seconds and self.fault is None:
            self.fault = f"{what}: a call took {seconds:.3g} s; draft_timeout is {self.calls.limit_seconds:g} s"

    def _proposed(
        self, states: Sequence[DraftState], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        found = proposals_of(self.drafter, states, budgets, randomness)
        return [self._believed(proposal, budget) for proposal, budget in zip(found, budgets, strict=True)]

    def _believed(self, proposal: Proposal, budget: int) -> Proposal:
        """The proposal; where it breaks its contract what is sound of it, and the last one."""
        if not isinstance(proposal, Proposal):
            raise no_proposal(proposal)
        if self.calls.beside:
            proposal = own_copy(proposal)
        try:
            check_length(proposal, budget)
            mark_checked(proposal, 0)
            check_for(proposal, self.vocab_size)
        except Exception as error:  # what is in a proposal may be anything
            pass_on(error)
            self.fault = self.fault or fault("propose", error)
            proposal = sound_part(proposal, self.vocab_size, budget)
        if not self.calls.beside:  # a law may be something else than arrays there
            mark_checked(proposal, self.vocab_size)
        return proposal


def check_length(proposal: Proposal, budget: int) -> None:
    """Raises BadProposal for one beyond its budget."""
    if len(proposal) > budget:
        raise BadProposal(f"a budget of {budget} draft tokens was answered with {len(proposal)}")


def fault(what: str, error: Exception) -> str:
    """What went wrong, in one line of words."""
    return " ".join(f"{what}: {in_words(error)}".split())
