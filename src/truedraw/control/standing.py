"""A decision that stands for some rounds: where it is for drafts yet to be made, what it rests on changes slowly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truedraw.control.average import Average
from truedraw.protocol import Asker, Choice, Proposal, Stand

ROUNDS = 16  # from one decision to the next, at most
SEEN = 4  # decisions that this weighs as much as, of what is known of how long they stand
FIRST = 2  # where no decision before took any offers, twice as many each time; from half on, where nobody was asked

Offers = Sequence[Mapping[str, Proposal]]


class Standing:
    """The last one that was weighed, and for whom. While it stands nobody is asked for offers."""

    def __init__(self) -> None:
        self._choices: list[Choice] = []
        self._for: list[tuple[int, bool, tuple[str, ...]]] = []
        self._until = 0  # round
        self._span = 1  # rounds from the last decision to the next
        self._since: int | None = None  # the round of the last one, where it stood
        self._stood = Average(ROUNDS, SEEN)  # rounds that decisions did

    def keep(self, step: int, askers: Sequence[Asker], offers: Offers, choices: list[Choice]) -> None:
        """What was decided in this round may stand, if all that was taken are drafts yet to be made."""
        is_made = any(choice.nodes is not None for choice in choices)
        if self._since is not None:
            self._stood.add(min(step - self._since, ROUNDS))  # no longer, whatever was plain behind it
        if is_made or not any(choice.tokens for choice in choices):
            self._span, self._since = 1, None
            return
        self._since = step
        self._span = min(max(FIRST * self._span, 0 if any(offers) else ROUNDS // 2), ROUNDS)
        self._choices, self._for, self._until = choices, _who(askers), step + self._span

    def share(self, is_made: bool) -> float:
        """What part of asking and deciding a round with drafts bears: all of it where they were made for it, else of as
        many as decisions stand for."""
        return 1.0 if is_made else 1.0 / max(1.0, self._stood.value)

    def lasts(self, step: int) -> bool:
        """Whether one may stand in that round."""
        return step < self._until

    def of(self, step: int, samples: Sequence[int]) -> list[Stand] | None:
        """What stands from that round on for these texts, if it was decided for them together."""
        is_theirs = step < self._until and [who[0] for who in self._for] == [*samples]
        if not is_theirs or any(choice.then for choice in self._choices):
            return None
        return [Stand(self._until - step, choice.source, choice.tokens) for choice in self._choices]

    def at(self, step: int, askers: Sequence[Asker]) -> list[Choice] | None:
        """What stands for these texts; None where it has to be weighed anew."""
        if step < self._until and _who(askers) == self._for and self._has_room(askers):
            return list(self._choices)
        if self._for and _who(askers) != self._for:
            self._span = 1  # nobody knows what offers the others get
        self.drop()
        return None

    def drop(self) -> None:
        """Weigh anew in the next round."""
        self._choices, self._for, self._until = [], [], 0

    def _has_room(self, askers: Sequence[Asker]) -> bool:
        return all(choice.tokens <= asker.room for choice, asker in zip(self._choices, askers, strict=True))


def _who(askers: Sequence[Asker]) -> list[tuple[int, bool, tuple[str, ...]]]:
    return [(asker.sample, asker.coupled, tuple(asker.sources)) for asker in askers]
