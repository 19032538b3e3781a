"""What is taken of what cheap drafters offer and others promise, in a round in which that is weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from truedraw.control.account import MEASURING, NO_ROOM, NOT_WORTH_IT, NOTHING_OFFERED, PAUSING, WAITING, Account
from truedraw.control.experience import Experience
from truedraw.control.late import Late
from truedraw.control.offers import Offer, Pile
from truedraw.control.standing import Offers, Standing
from truedraw.control.texts import Texts
from truedraw.control.watch import Watch
from truedraw.control.width import Width
from truedraw.control.yardstick import Yardstick
from truedraw.protocol import Asker, Choice, Proposal


class Turn(NamedTuple):
    """The round, of one controller."""

    step: int
    present: Set[int]  # texts
    share: float  # of those who can draft, that are asked
    waits: bool  # nobody drafts whose tokens cost time


class Weighing:
    """One controller's. `rows`: of drafts in the pass; `why`: nothing is drafted, if nothing is."""

    def __init__(
        self, known: Experience, width: Width, account: Account, texts: Texts, standing: Standing, watch: Watch
    ) -> None:
        self._known, self._width, self._account, self._texts = known, width, account, texts
        self._standing, self._watch = standing, watch
        self._yardstick, self.late = Yardstick(known), Late(known, width)
        self._last = 0  # step that decided about rows
        self.rows, self.why = 0, PAUSING

    def choices(self, askers: Sequence[Asker], offers: Offers, turn: Turn, seconds: float) -> list[Choice]:
        """The best offer of each text, as much of it as there are rows for; seconds: of asking and deciding."""
        self.why = WAITING if turn.waits or not self._known.costs.is_known else PAUSING
        is_promising = self.late.weigh(askers, self._known.is_cheap, turn.present, turn.waits)
        look = self.late.look(askers, offers, turn.step, len(turn.present))
        if not any(offers) and not is_promising and look is None:
            self._width.rows = 0  # or it would be asked in each round whether that still holds
            can = any(asker.room and asker.sources for asker in askers)
            return self._plainly(askers, self.why if can else NO_ROOM)
        pile = Pile([self._best(asker, offer) for asker, offer in zip(askers, offers, strict=True)])
        if not self._are_settled(pile, turn, seconds * self._standing.share(pile.is_made)):
            return self._plainly(askers, MEASURING)
        choices = pile.taken(self.rows)
        if look is not None:
            choices[look[0]] = Choice(look[1], tokens=1)
        else:
            self._standing.keep(turn.step, askers, offers, choices)
        return self._noted(askers, pile, choices, turn.step)

    def _are_settled(self, pile: Pile, turn: Turn, offering: float) -> bool:
        """The rows; False where the round is to be plain, to measure that. What all are offered decides about them."""
        samples = len(turn.present)
        if turn.share < 1.0:
            self.rows, self._watch.is_alarmed = 0, self._width.glance(pile, samples, turn.share, offering) > 1.0
            return True
        self._width.add(pile, samples, turn.step - self._last)
        self._last = turn.step
        if self._yardstick.is_due(*self._width.filled(samples), self._width):
            if self._known.costs.is_known:  # drafters are timed meanwhile, at first
                self.why = MEASURING
            return False
        self._width.settle(samples, offering)
        self.rows = self._width.now(pile, samples)
        return True

    def _plainly(self, askers: Sequence[Asker], why: str) -> list[Choice]:
        self.rows = 0
        self._account.plain(why)
        return [Choice() for _ in askers]

    def _noted(self, askers: Sequence[Asker], pile: Pile, choices: list[Choice], step: int) -> list[Choice]:
        """The choices, remembered, and entered for whoever asks why."""
        late = self.late.chosen(askers, choices, step, self._known.rounds)
        if any(choice.source for choice in choices):
            made = [(worth, 0.0) for worth in pile.worths(self.rows)]
            self._account.drafted(askers, choices, [late.get(place, each) for place, each in enumerate(made)])
        elif len(pile):
            self._account.plain(NOT_WORTH_IT, self._width.gain)
        else:
            self._account.plain(NOTHING_OFFERED)
        return choices

    def _best(self, asker: Asker, made: Mapping[str, Proposal]) -> Offer | None:
        """The offer that is worth most to a text."""
        offers = self._texts.offers(asker, made)
        offers += [offer for offer in self.late.offers(asker) if offer.source not in made]
        worths = {offer.source: offer.worth for offer in offers}
        self._account.weighed(worths)
        self._known.weighed(asker, made, worths)
        return max(offers, key=lambda offer: worths[offer.source], default=None)
