"""Draft states that hear of rounds once these are over, and not each when it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from truedraw.draft.several import SeveralStates
from truedraw.draft.site import hear
from truedraw.generate.guarded_drafter import GuardedState
from truedraw.protocol import DraftState, Scores


class Hearers(NamedTuple):
    """Of one text."""

    dozing: tuple[Any, ...]  # that need to know nothing but its tokens
    listening: tuple[GuardedState, ...]  # that want the hidden states of each round

    def listen(self, rounds: Sequence[Sequence[int]], said: Sequence[Scores]) -> None:
        """Those who miss no round hear of each, and what the target said in it."""
        for state in self.listening:
            for tokens, scores in zip(rounds, said, strict=True):
                state.commit(tokens, scores)

    def follow(self, rounds: Sequence[Sequence[int]], last: Scores, *, dozing: bool) -> None:
        """Those who may doze hear what was written, and what the target said at last if they do not doze now."""
        missed = [token for tokens in rounds[:-1] for token in tokens]
        for state in self.dozing:
            if missed:
                hear(state, missed, None, dozing=True)
            hear(state, rounds[-1], None if dozing else last, dozing=dozing)


def states_of(draft: DraftState, source: str = "") -> dict[str, DraftState | None]:
    """By drafter, where there are several; else the only one, by this name."""
    return dict(draft.states) if isinstance(draft, SeveralStates) else {source: draft}


def hearers_of(states: Iterable[DraftState | None]) -> Hearers | None:
    """None where one wants to hear all that the target says in each round."""
    heard = [each for each in states if each is not None and not (isinstance(each, GuardedState) and each.is_off)]
    dozing = tuple(each for each in heard if getattr(each, "dozes", False))
    listening = tuple(each for each in heard if isinstance(each, GuardedState) and not each.dozes)
    if len(dozing) + len(listening) < len(heard) or not all(each.hears_hidden for each in listening):
        return None
    return Hearers(dozing, listening)
