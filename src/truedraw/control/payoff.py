"""Draft as much as pays: by measured cost and measured acceptance, plain sampling always being one of the choices.

Drafts of certain tokens cost next to nothing to make, so they are made first and weighed (opinion.py): a row of the
next pass goes to the token that is most likely to be kept, whichever text it belongs to and whoever drafted it. How
many rows there are, width.py says: most tokens a second, (texts + worth of the drafts) / (seconds of a pass with so
many rows), the renewal-reward rule. A drafter whose tokens cost time, or are drawn, would have to be asked first: its
tokens are worth what its acceptance by position says, less their measured time, and stand in the same order.

Everything is known before the fate of a token is, so the law is untouched. Where drafting does not pay, the drafters
are asked seldom (pause.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from functools import partial
from time import perf_counter

from truedraw.control.account import MEASURING, Account
from truedraw.control.average import Average, TwoKinds, warmed
from truedraw.control.experience import Experience
from truedraw.control.lessons import Lessons, Seen, Stood, is_urgent
from truedraw.control.pause import Pause
from truedraw.control.standing import Standing
from truedraw.control.texts import Texts
from truedraw.control.waiting import Waiting
from truedraw.control.watch import Watch
from truedraw.control.weighing import Turn, Weighing
from truedraw.control.width import Width
from truedraw.control.yardstick import ENOUGH
from truedraw.protocol import Asker, Choice, Proposal, Round, Stand

SHORTEST, LONGEST = 7, 15  # tokens that a text is offered: a pass of 8 or 16 rows, where it is alone
UNASKED = 2  # rounds that a text rests, as far as is known, where others are asked in its place


class PayoffController:
    """protocol.Controller. `experience` is what other jobs of the model have learnt; `account` tells what it did."""

    def __init__(self, experience: Experience | None = None) -> None:
        self._known = experience or Experience()
        self._costs = self._known.costs
        self._width = Width(self._known, LONGEST)
        self._account = Account(self._known)
        self._texts = Texts(self._known)
        self._asking, self._deciding = TwoKinds(), Average()  # seconds of a round in which that is done
        self._own = 0.0  # of these, what the present round took to decide
        self._step = 0  # rounds
        self._next = 0  # the next that is to
        self._left = 0  # rounds until then, the present one included, where nobody is asked in it
        self._length = 0.0  # tokens of the texts of this round, in the mean
        self._present: Set[int] = frozenset()  # texts of this round
        self._here: Sequence[int] = ()  # those of the next call of `budget`, and others that are not asked
        self._standing, self._watch, self._waiting = Standing(), Watch(), Waiting(self._known)
        self._weighing = Weighing(self._known, self._width, self._account, self._texts, self._standing, self._watch)
        self._late = self._weighing.late
        self._stood: Stood | None = None  # in this round
        self._pause = Pause(self._width, self._known, self._watch, self._late)
        self._lessons = Lessons(self._known, self._account, self._texts, self._late, self._pause.listening)

    @property
    def account(self) -> Account:
        """Of all rounds so far."""
        self._lessons.read()
        return self._account

    def budget(self, askers: Sequence[Asker]) -> list[dict[str, int]]:
        """All that cheap drafters can offer; one token of those whose cost is not known yet."""
        if not self._here:
            self._begin()
        self._present, self._here = {*self._here, *(asker.sample for asker in askers)}, ()
        self._waiting.begin(self._present, self._step)
        if (standing := self._standing.at(self._step, askers)) is not None:
            self._stood, self._next = Stood(self._step, self._known.rounds, askers, standing), self._step + 1
            return [{} for _ in askers]
        start = perf_counter()
        self._learn(askers)
        self._texts.among(self._present)
        offered = min(LONGEST, max(SHORTEST, 2 * self._width.rows // len(askers) + 1))
        rate = partial(self._width.rate, len(self._present))
        wanted = [self._known.wanted(asker, offered, rate) for asker in askers]
        self._own = perf_counter() - start
        return wanted

    def rest(self, samples: Sequence[int]) -> list[int]:
        """protocol.Rests: until offers are weighed again, and longer for those whom others stand for then."""
        left = max(0, self._next - self._step - 1)
        asked = frozenset(self._asked(samples) if left <= 1 else ())
        self._begin()
        self._present, self._left = set(samples), left
        if left:
            self._weighing.rows = 0
            self._standing.drop()
        else:
            self._here = samples  # rows are those of a decision that stands, or are decided anew
        return [left if left > 1 or sample in asked else UNASKED for sample in samples]

    def stands(self, samples: Sequence[int]) -> list[Stand] | None:
        """protocol.Stands: until offers are weighed again, plain sampling or what was decided last."""
        if (left := self._next - self._step - 1) > 0:
            return [Stand(left, rest=left)] * len(samples)
        return self._standing.of(self._step + 1, samples)

    def _asked(self, samples: Sequence[int]) -> Collection[int]:
        """In the next round in which anybody is."""
        is_idle = self._costs.is_known and not self._width.rows and not self._standing.lasts(self._step + 1)
        return self._watch.among(samples, self._width.gain, self._late.looked_at) if is_idle else samples

    def _begin(self) -> None:
        """A round."""
        self._step, self._left, self._stood, self._own = self._step + 1, 0, None, 0.0
        self._known.rounds += 1

    def choose(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        """The best offer of each text, as much of it as there are rows for."""
        if self._stood is not None:
            return list(self._stood.choices)
        start, share = perf_counter(), self._watch.share(askers, self._present)
        turn = Turn(self._step, self._present, share, self._waiting.is_on)
        self._account.begin(self._present, askers, offers, seconds)
        asking, found = sum(seconds.values()), _is_any(offers)
        if any(offers):
            self._asking.add(asking / share, is_longer=found)
            self._known.timed(askers, offers, seconds)
        deciding = self._deciding.value + (self._asking.value if any(offers) else 0.0)
        choices = self._weighing.choices(askers, offers, turn, deciding)
        self._own += perf_counter() - start
        self._deciding = warmed(self._deciding, self._own / share)
        self._late.deciding = self._deciding.value
        rounds = self._pause.rounds(asking + self._own, len(self._present), share, self._waiting.left, found=found)
        self._next = self._step + rounds
        if self._weighing.why == MEASURING:  # as plain sampling goes: rounds that nobody listens to may be run at once
            self._next = self._step + 1 + ENOUGH
        return choices

    def observe(self, rounds: Sequence[Round]) -> None:
        """Learn from one step of the loop, the rounds of all samples that ran in it."""
        if self._here:  # whoever was to be asked has failed
            self._left, self._weighing.rows, self._here = UNASKED, 0, ()
        rows, why = self._weighing.rows, self._weighing.why
        seen = Seen(rounds, self._present, rows, self._left, self._stood, self._own, self._length, why=why)
        self._lessons.add(seen, wait=self._standing.lasts(self._step + 1) and not is_urgent(rounds))
        self._left, self._stood = 0, None

    def prompts(self, rows: int) -> None:
        """protocol.HearsPrompts."""
        self._costs.prompts(rows)

    def _learn(self, askers: Sequence[Asker]) -> None:
        """All that was seen is to count from here on, for the texts of this round, of which these are asked for."""
        self._lessons.read()
        self._length = self._costs.length = self._texts.length(askers, self._present)
        self._width.begin(self._lessons.beside)


def _is_any(offers: Sequence[Mapping[str, Proposal]]) -> bool:
    """Whether somebody offers a token."""
    return any(len(made) for offer in offers for made in offer.values())
