"""Draft as much as pays: by measured cost and measured acceptance, plain sampling always being one of the choices.

Drafts of certain tokens cost next to nothing to make, so they are made first and weighed (opinion.py): a row of the
next pass goes to the token that is most likely to be kept, whichever text it belongs to and whoever drafted it. How
many rows there are, width.py says: most tokens a second, (texts + worth of the drafts) / (seconds of a pass with so
many rows), the renewal-reward rule. A drafter whose tokens cost time, or are drawn, would have to be asked first: its
tokens are worth what its acceptance by position says, less their measured time, and stand in the same order.

Everything is known before the fate of a token is, so the law is untouched. Where drafting does not pay, the drafters
are asked seldom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from truedraw.control.account import MEASURING, NO_ROOM, NOT_WORTH_IT, NOTHING_OFFERED, PAUSING, Account
from truedraw.control.costs import Average
from truedraw.control.experience import Experience, Record, warmed
from truedraw.control.late import Late
from truedraw.control.offers import Offer, Pile, survivals
from truedraw.control.opinion import Lean, log_odds
from truedraw.control.shadow import Shadow
from truedraw.control.width import Width
from truedraw.protocol import Asker, Choice, Proposal, Round

SHORTEST, LONGEST = 7, 15  # tokens that a text is offered: a pass of 8 or 16 rows, where it is alone
CHEAP = 0.02  # of a pass, a call for one text: cheap drafts are made to be weighed
IDLE = 0.005  # of the time, that drafters may be asked for where nothing is drafted
LONGEST_PAUSE = 64  # rounds
CALIBRATION = 3  # plain passes that are measured before anything is drafted
PLAIN_EVERY, CLOSE = 32, 1.1  # rounds to the next one where the gain is below this
FORGET = 4  # times as many texts remembered as there are


@dataclass(slots=True)
class Text:
    """What is known about one running text and each of its drafters."""

    coupled: bool
    leans: dict[str, Lean] = field(default_factory=dict)
    shadows: dict[str, Shadow] = field(default_factory=dict)


class PayoffController:
    """protocol.Controller. `experience` is what other jobs of the model have learnt; `account` tells what it did."""

    def __init__(self, experience: Experience | None = None) -> None:
        self._known = experience or Experience()
        self._costs = self._known.costs
        self._width = Width(self._costs, LONGEST)
        self.account = Account(self._known)
        self._texts: dict[int, Text] = {}
        self._offering = Average()  # seconds a round, that asking and weighing take
        self._step = self._asked = self._weighed_at = 0  # rounds; the last with offers, the last that weighed anything
        self._pause = 1
        self._length = SHORTEST
        self._rows = 0  # of drafts in the present pass
        self._plain = 0  # the last round that was plain to be measured
        self._late = Late(self._known, self._width)

    def budget(self, askers: Sequence[Asker]) -> list[dict[str, int]]:
        """All that cheap drafters can offer; one token of those whose cost is not known yet."""
        self._step += 1
        if len(self._texts) > FORGET * len(askers):  # some were cancelled
            self._texts = {each.sample: text for each in askers if (text := self._texts.get(each.sample)) is not None}
        self._length = min(LONGEST, max(SHORTEST, 2 * self._width.rows // len(askers) + 1))
        if self._step - self._asked < self._pause:
            return [{} for _ in askers]
        return [self._wanted(asker) for asker in askers]

    def choose(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        """The best offer of each text, as much of it as there are rows for."""
        start = perf_counter()
        choices = self._chosen(askers, offers, seconds)
        if any(offers):
            self._offering = warmed(self._offering, sum(seconds.values()) + perf_counter() - start)
        return choices

    def _chosen(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        self.account.begin(askers, offers, seconds)
        samples = len(askers)
        is_promising = self._late.weigh(askers, self._is_cheap)
        look = self._late.look(askers, self._step)
        if not any(offers) and not is_promising and look is None:
            self._rows = 0
            self.account.plain(PAUSING if any(asker.room and asker.sources for asker in askers) else NO_ROOM)
            return [Choice() for _ in askers]
        self._timed(askers, offers, seconds)
        pile = Pile([self._best(asker, offer) for asker, offer in zip(askers, offers, strict=True)])
        self._width.add(pile, samples, self._step - self._weighed_at)
        self._weighed_at = self._step
        self._asked = self._step if any(offers) else self._asked
        usual = self._costs.seconds(samples, samples)
        if self._is_plain_due(samples):
            self._rows = 0
            self.account.plain(MEASURING)
            return [Choice() for _ in askers]
        self._width.settle(samples, self._offering.value)
        self._pause = 1 if self._width.rows else min(int(self._offering.value / (IDLE * usual)) + 1, LONGEST_PAUSE)
        self._rows = self._width.now(pile, samples)
        choices = pile.taken(self._rows)
        if look is not None:
            choices[look[0]] = Choice(look[1], tokens=1)
        return self._noted(askers, pile, choices)

    def observe(self, rounds: Sequence[Round]) -> None:
        """Learn from one step of the loop, the rounds of all samples that ran in it."""
        for done in rounds:
            self._follow(done)
        self._late.saw(rounds)
        rows = rounds[0].pass_rows
        if rows == 0:  # nothing was computed, so nothing was drafted either
            return
        held = len(rounds) + (self._rows if self._plain == self._step else max(self._rows, self._width.rows))
        self.account.saw(rounds, rows, held)
        seconds = sum(done.seconds - done.draft_seconds for done in rounds)
        self._costs.add(max(rows, held), seconds, len(rounds))

    def _is_plain_due(self, samples: int) -> bool:
        """Whether a plain pass is to be measured: at first, and now and then where drafts hardly gain."""
        is_close = self._width.rows > 0 and self._width.gain < CLOSE
        if self._costs.passes(samples) >= CALIBRATION and not (is_close and self._step - self._plain >= PLAIN_EVERY):
            return False
        self._plain = self._step
        return True

    def _noted(self, askers: Sequence[Asker], pile: Pile, choices: list[Choice]) -> list[Choice]:
        """The choices, remembered, and entered for whoever asks why."""
        late = self._late.chosen(askers, choices, self._step)
        if any(choice.source for choice in choices):
            worths = [late.get(place, worth) for place, worth in enumerate(pile.worths(self._rows))]
            self.account.drafted(askers, choices, worths)
        elif len(pile):
            self.account.plain(NOT_WORTH_IT, self._width.gain)
        else:
            self.account.plain(NOTHING_OFFERED)
        return choices

    def _wanted(self, asker: Asker) -> dict[str, int]:
        wanted = {}
        for source in asker.sources:
            record = self._known.of(source, asker.coupled)
            if not record.pace.is_known and record.is_certain:
                wanted[source] = min(asker.room, 1)
            elif self._is_cheap(record):
                wanted[source] = min(asker.room, self._length)
        return {source: tokens for source, tokens in wanted.items() if tokens}

    def _is_cheap(self, record: Record) -> bool:
        return record.is_certain and record.pace.call < CHEAP * self._costs.seconds(1)

    def _timed(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> None:
        for source, took in seconds.items():
            made = [(asker.coupled, len(offer[source])) for asker, offer in zip(askers, offers, strict=True)
                    if source in offer]  # fmt: skip
            for coupled in {kind for kind, _ in made}:
                drafted = sum(tokens for _, tokens in made) / len(made)
                self._known.of(source, coupled).pace.add(took / len(made), drafted)

    def _best(self, asker: Asker, made: Mapping[str, Proposal]) -> Offer | None:
        """The offer that is worth most to a text."""
        text = self._texts.setdefault(asker.sample, Text(asker.coupled))
        weighed = [self._weighed(text, source, proposal) for source, proposal in made.items() if len(proposal)]
        offers = [offer for offer in weighed if offer is not None]
        offers += [offer for offer in self._late.offers(asker) if offer.source not in made]
        worths = {offer.source: offer.worth for offer in offers}
        self.account.weighed(worths)
        return max(offers, key=lambda offer: worths[offer.source], default=None)

    def _weighed(self, text: Text, source: str, proposal: Proposal) -> Offer | None:
        """None for an offer with laws: what was drawn to be weighed is always thrown away, and not asked for again."""
        record, lean = self._known.of(source, text.coupled), text.leans.setdefault(source, Lean())
        if any(law is not None for law in proposal.laws):
            record.is_certain = False
            return None
        if source not in text.shadows:
            text.shadows[source] = Shadow(proposal, log_odds(proposal))
        return Offer(source, survivals(proposal, record.opinion.chances(proposal, lean)), True)

    def _follow(self, done: Round) -> None:
        text = self._texts.get(done.sample)
        if text is None:
            return
        for source, shadow in tuple(text.shadows.items()):
            fates = shadow.follow(done.tokens, done.forced)
            self._known.of(source, text.coupled).opinion.learn(fates, text.leans[source])
            if shadow.ended:
                del text.shadows[source]
        if done.finish_reason is not None:
            del self._texts[done.sample]
