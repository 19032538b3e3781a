"""A decision that stands for some rounds: where nobody has offered anything, what it rests on changes slowly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truedraw.protocol import Asker, Choice, Proposal

ROUNDS = 8  # that a decision is taken over at most

Offers = Sequence[Mapping[str, Proposal]]


class Standing:
    """The last one that was weighed, and for whom."""

    def __init__(self) -> None:
        self._choices: list[Choice] = []
        self._for: list[tuple[int, bool, tuple[str, ...]]] = []
        self._until = 0  # round
        self._is_quiet = False  # nobody was asked when it was weighed

    def keep(self, step: int, askers: Sequence[Asker], offers: Offers, choices: list[Choice]) -> None:
        """What was decided in this round may stand, if all that was weighed are drafts yet to be made."""
        if _are_empty(offers) and any(choice.tokens for choice in choices):
            self._choices, self._for, self._until = choices, _who(askers), step + ROUNDS
            self._is_quiet = not any(offers)

    def lasts(self, step: int) -> bool:
        """Whether one may stand in that round."""
        return step < self._until

    def quiet(self, step: int, askers: Sequence[Asker]) -> list[Choice] | None:
        """What stands for these texts though nobody is asked for offers, as nobody was; None where somebody is."""
        stands = self._is_quiet and step < self._until and _who(askers) == self._for and self._has_room(askers)
        return list(self._choices) if stands else None

    def still(self, step: int, askers: Sequence[Asker], offers: Offers) -> list[Choice] | None:
        """The same for the same texts; None where it has to be weighed anew."""
        if step < self._until and _who(askers) == self._for and _are_empty(offers) and self._has_room(askers):
            return list(self._choices)
        self.drop()
        return None

    def drop(self) -> None:
        """Weigh anew in the next round."""
        self._choices, self._for, self._until = [], [], 0

    def _has_room(self, askers: Sequence[Asker]) -> bool:
        return all(choice.tokens <= asker.room for choice, asker in zip(self._choices, askers, strict=True))


def _are_empty(offers: Offers) -> bool:
    return not any(len(proposal) for offer in offers for proposal in offer.values())


def _who(askers: Sequence[Asker]) -> list[tuple[int, bool, tuple[str, ...]]]:
    return [(asker.sample, asker.coupled, tuple(asker.sources)) for asker in askers]
