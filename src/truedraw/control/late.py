"""Drafters that are asked once it is decided how much they draw: their tokens cost time, or are drawn.

What they promise is known before, from their own word on the shape of their trees or from acceptance by position, and
so is what a token of theirs takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import exp, inf

from truedraw.control.average import entries
from truedraw.control.experience import Experience, Kind, Record
from truedraw.control.offers import Offer
from truedraw.control.promise import Promise
from truedraw.control.width import Width
from truedraw.protocol import Asker, Choice, Proposal, Round

LOOKS = 0.0075  # of the time, that looks may take
UNSETTLED = 3.0  # times what a look loses, behind a wide pass, where it tells less
LOOK_EVERY = 24  # rounds at least between looks at one that does not pay, to see whether it does by now
BURST = 4  # rounds of a look, a token in each
AGE = 48.0  # rounds of rest, whoever is in turn, that make what was measured before count for 1 / e of what it did
RESTED = 8  # rounds in which a source drafted nothing: its next call takes up to twice as long as those behind it


class Late:
    """One controller's; `known` and `width` are what it knows and decides by."""

    def __init__(self, known: Experience, width: Width) -> None:
        self._known, self._width = known, width
        self._promises: dict[tuple[int, str], Promise] = {}  # to a text, by a source
        self._worths: dict[tuple[int, str], list[float]] = {}  # of them, less their price
        self._kinds: list[Kind] = []  # that may be asked
        self._asked: dict[int, tuple[Kind, Promise]] = {}  # texts that draft in this round, by whom, and what for
        self._used: dict[Kind, int] = {}  # the last round of this controller in which it drafted
        self._since: dict[tuple[int, str], int] = {}  # a text, and a source: the round in which it drafted, or began
        self._fresh: set[Kind] = set()  # of those who draft in this round, whoever has rested
        self.deciding = 0.0  # seconds that it takes, in each round of a look
        self._look: tuple[Kind, int, int, int] | None = None  # under way: at whom, for which text, when, rounds left

    def weigh(
        self, askers: Sequence[Asker], is_cheap: Callable[[Record], bool], present: Set[int], waits: bool = False
    ) -> bool:
        """What sources that are not cheap would bring to these of all texts; whether any is worth its price.

        waits: none of them is to draft in this round.
        """
        self._asked, self._fresh = {}, set()
        kinds = dict.fromkeys((source, asker.coupled) for asker in askers for source in asker.sources if not waits)
        self._kinds = [kind for kind in kinds if not is_cheap(self._known.of(*kind))]
        self._promises = {
            (asker.sample, kind[0]): promise for kind in self._kinds for asker, promise in self._of(kind, askers)
        }
        self._since = {each: at for each, at in self._since.items() if each[0] in present}
        for each in self._promises:
            self._since.setdefault(each, self._known.rounds)
        rate = self._width.rate(len(present))
        self._worths = {each: promise.net(rate) for each, promise in self._promises.items()}
        return any(self._worths.values())

    def _of(self, kind: Kind, askers: Sequence[Asker]) -> Iterator[tuple[Asker, Promise]]:
        """What a source promises to each text that may ask it."""
        record, made = self._known.of(*kind), dict[object, Promise]()
        able = [asker for asker in askers if kind[0] in asker.sources and asker.coupled == kind[1]]
        for asker in able:
            worths = asker.worths.get(kind[0])
            told = None if worths is None else tuple(worths)
            if told not in made:  # texts that promise the same share it
                made[told] = Promise.of(record, told, len(able))
            yield asker, made[told]

    def offers(self, asker: Asker) -> list[Offer]:
        """What it would bring to a text."""
        found = ((source, self._worths.get((asker.sample, source))) for source in asker.sources)
        return [Offer(source, worth[: asker.room], False) for source, worth in found if worth]

    def look(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], step: int, samples: int
    ) -> tuple[int, str] | None:
        """A text, by its place, and a source that is to draft a token for it, to see whether it pays by now.

        One that was asked in this round is not asked again. A look goes on for some rounds: what it takes to draft is
        seen behind the first of them.
        """
        last, self._look = self._look, None
        for kind in self._kinds:
            able = [place for place, each in enumerate(zip(askers, offers, strict=True)) if may(kind, *each)]
            able.sort(key=lambda place: -self._promises[askers[place].sample, kind[0]].gain(1))
            for place in able:
                goes_on = last is not None and last[:3] == (kind, askers[place].sample, step - 1)
                if goes_on or self._is_due(kind, askers[place].sample, samples):
                    left = last[3] if goes_on and last is not None else BURST
                    self._look = (kind, askers[place].sample, step, left - 1) if left > 1 else None
                    return place, kind[0]
        return None

    @property
    def looked_at(self) -> int | None:
        """The text at which a look goes on in the next round."""
        return None if self._look is None else self._look[1]

    def _is_due(self, kind: Kind, text: int, samples: int) -> bool:
        """By what a look is thought to lose, and the rounds since it drafted for anybody: texts may be short.

        Where it drafts for others a text has looks of its own, as often as one that is alone.
        """
        rounds, each = self._known.rounds, (text, kind[0])
        rests, waits = min(self._rest_of(kind, rounds), rounds), rounds - self._since[each]
        if max(rests, waits) < LOOK_EVERY:
            return False
        lost = self._lost(samples, self._promises[each]) * (1.0 if self._known.costs.is_settled else UNSETTLED)
        return max(rests * samples, waits) >= lost / LOOKS

    def _lost(self, samples: int, promise: Promise) -> float:
        """Tokens that a look is thought to cost."""
        rate, seconds = self._width.rate(samples), self._width.seconds(samples, 1) + promise.price(1)
        once = promise.price(1) + self._width.change(samples, 1)  # behind a rest a call takes up to twice as long
        return BURST * (rate * (seconds + self.deciding) - samples - promise.gain(1)) + rate * once

    def chosen(
        self, askers: Sequence[Asker], choices: Sequence[Choice], step: int, at: int
    ) -> dict[int, tuple[float, float]]:
        """These are asked in that round; the draft tokens that should be kept, and their seconds, by the text's place.

        at: the same round, counted over all controllers.
        """
        self._asked, expected = {}, dict[int, tuple[float, float]]()
        for place, (asker, choice) in enumerate(zip(askers, choices, strict=True)):
            if choice.tokens:
                text = asker.sample, choice.source
                promise, self._since[text] = self._promises[text], at
                self._asked[asker.sample] = (choice.source, asker.coupled), promise
                expected[place] = promise.gain(choice.tokens), promise.price(choice.tokens)
        self._wakes({kind for kind, _ in self._asked.values()}, step, at)
        return expected

    def _rest_of(self, kind: Kind, at: int) -> float:
        """Rounds since it drafted for anybody."""
        last = self._known.of(*kind).drafted_at
        return inf if last is None else at - last

    def _wakes(self, kinds: Set[Kind], step: int, at: int) -> None:
        """They draft in that round. What was measured before a rest fades: it may have changed unseen."""
        self._fresh = set()
        if not kinds:
            return
        rests = {kind: min(self._rest_of(kind, at), step - self._used.get(kind, -RESTED - 1)) for kind in kinds}
        self._fresh = {kind for kind, rest in rests.items() if rest > RESTED}
        for kind in self._fresh:
            self._known.of(*kind).pace.fade(exp(-self._rest_of(kind, at) / AGE))
        rest = at - self._known.drafted_at
        if rest > RESTED:
            self._known.upkeep.fade(exp(-rest / AGE))
        for kind in kinds:
            record = self._known.of(*kind)
            record.drafted_at = max(at, record.drafted_at or 0)
            self._used[kind] = step

    def saw(self, rounds: Sequence[Round], passes: int = 1) -> bool:
        """What came of it; whether the round tells nothing of times, since somebody drafted behind a rest.

        One call drafted for all texts of a source, and tells once what a text takes. passes: rounds of one text.
        """
        fresh, self._fresh = self._fresh, set()
        calls: dict[Kind, list[tuple[Round, Promise]]] = {}
        for done in rounds:
            asked = self._asked.get(done.sample)
            if asked is not None and done.pass_rows and done.late_seconds is not None:
                calls.setdefault(asked[0], []).append((done, asked[1]))
        for done in rounds:
            self._asked.pop(done.sample, None)
        for kind, group in calls.items():
            self._learn(kind, group, kind in fresh, passes)
        return bool(fresh)

    def _learn(self, kind: Kind, group: Sequence[tuple[Round, Promise]], is_fresh: bool, passes: int) -> None:
        record = self._known.of(*kind)
        for done, _ in group:
            record.acceptance.add(done.drafted, done.accepted)
        if is_fresh and record.pace.is_measured:
            return
        levels = max(promise.levels(done.drafted) for done, promise in group)
        tokens, seconds = sum(done.drafted for done, _ in group), [done.late_seconds or 0.0 for done, _ in group]
        calls = seconds if passes > 1 else [sum(seconds) / len(group)]
        for each, times in entries(calls, is_known=record.pace.is_measured):
            record.pace.add(each, tokens / len(group), levels, times, 1 if passes > 1 else len(group))


def may(kind: Kind, asker: Asker, made: Mapping[str, Proposal]) -> bool:
    """Whether a text has room for a source that it can have drafts from, which was not asked in this round."""
    return asker.room > 0 and kind[0] in asker.sources and asker.coupled == kind[1] and kind[0] not in made
