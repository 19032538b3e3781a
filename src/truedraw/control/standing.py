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

    def keep(self, step: int, askers: Sequence[Asker], offers: Offers, choices: list[Choice]) -> None:
        """What was decided in this round may stand, if all that was weighed are drafts yet to be made."""
        stands = _are_empty(offers) and any(choice.tokens for choice in choices)
        self._choices, self._for = (choices, _who(askers)) if stands else ([], [])
        self._until = step + ROUNDS

    def still(self, step: int, askers: Sequence[Asker], offers: Offers) -> list[Choice] | None:
        """The same for the same texts; None where it has to be weighed anew."""
        if not self._choices or step >= self._until or not _are_empty(offers) or _who(askers) != self._for:
            return None
        has_room = all(choice.tokens <= asker.room for choice, asker in zip(self._choices, askers, strict=True))
        return list(self._choices) if has_room else None


def _are_empty(offers: Offers) -> bool:
    return not any(len(proposal) for offer in offers for proposal in offer.values())


def _who(askers: Sequence[Asker]) -> list[tuple[int, bool, tuple[str, ...]]]:
    return [(asker.sample, asker.coupled, tuple(asker.sources)) for asker in askers]
