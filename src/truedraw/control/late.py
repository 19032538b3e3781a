"""Drafters that are asked once it is decided how much they draw: their tokens cost time, or are drawn.

What they promise is known before, from their own word on the shape of their trees or from acceptance by position, and
so is what a token of theirs takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from truedraw.control.experience import Experience, Record
from truedraw.control.offers import Offer
from truedraw.control.promise import Promise
from truedraw.control.width import Width
from truedraw.protocol import Asker, Choice, Proposal, Round

LOOKS = 0.005  # of the time, that looks may take
LOOK_EVERY = 24  # rounds at least between looks at one that does not pay, to see whether it does by now
BURST = 2  # rounds of a look, a token in each
RESTED = 8  # rounds in which a source drafted nothing: its next call takes up to twice as long as those behind it
Kind = tuple[str, bool]
"""A drafter, and whether a coupled rule judges what it drafts."""


class Late:
    """One controller's; `known` and `width` are what it knows and decides by."""

    def __init__(self, known: Experience, width: Width) -> None:
        self._known, self._width = known, width
        self._worths: dict[Kind, list[float]] = {}  # less their price
        self._promises: dict[Kind, Promise] = {}
        self._asked: dict[int, Kind] = {}  # texts that draft in this round, and by whom
        self._used: dict[str, int] = {}  # the last round in which such a source drafted
        self._fresh: set[Kind] = set()  # of those who draft in this round, whoever has rested
        self._look: tuple[Kind, int, int] | None = None  # under way: at whom, its last round, and rounds left

    def weigh(self, askers: Sequence[Asker], is_cheap: Callable[[Record], bool]) -> bool:
        """What each source would bring that is not cheap; whether any is worth its price."""
        rate = self._width.rate(len(askers))
        roomy = sorted(askers, key=lambda asker: asker.room)  # whoever has most room is told most of a source's worth
        told = {(source, asker.coupled): asker.worths.get(source) for asker in roomy for source in asker.sources}
        late = {kind: worths for kind, worths in told.items() if not is_cheap(self._known.of(*kind))}
        self._asked, self._fresh = {}, set()
        self._promises = {kind: Promise.of(self._known.of(*kind), worths) for kind, worths in late.items()}
        self._worths = {kind: promise.net(rate) for kind, promise in self._promises.items()}
        return any(self._worths.values())

    def offers(self, asker: Asker) -> list[Offer]:
        """What it would bring to a text."""
        kinds = ((source, asker.coupled) for source in asker.sources)
        return [Offer(kind[0], worth[: asker.room], False) for kind in kinds if (worth := self._worths.get(kind))]

    def look(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], step: int
    ) -> tuple[int, str] | None:
        """A text, by its place, and a source that is to draft a token for it, to see whether it pays by now.

        One that was asked in this round is not asked again. A look goes on for some rounds: what it takes to draft is
        seen behind the first of them.
        """
        last, self._look = self._look, None
        for kind in self._worths:
            goes_on = last is not None and last[:2] == (kind, step - 1)
            if not goes_on and not self._is_due(kind, len(askers), step):
                continue
            for place, (asker, made) in enumerate(zip(askers, offers, strict=True)):
                if asker.room and kind[0] in asker.sources and asker.coupled == kind[1] and kind[0] not in made:
                    left = last[2] if goes_on and last is not None else BURST
                    self._look = (kind, step, left - 1) if left > 1 else None
                    return place, kind[0]
        return None

    @property
    def is_looking(self) -> bool:
        """Whether a look goes on in the next round."""
        return self._look is not None

    def _is_due(self, kind: Kind, samples: int, step: int) -> bool:
        passed = step - self._used.get(kind[0], 0)
        if passed < LOOK_EVERY:
            return False
        price = self._width.extra(samples, 1) + self._promises[kind].price(1)
        return passed >= BURST * price / (LOOKS * self._width.plain(samples))

    def chosen(self, askers: Sequence[Asker], choices: Sequence[Choice], step: int) -> dict[int, tuple[float, float]]:
        """These are asked now; the draft tokens that should be kept, and the seconds they take, by the text's place."""
        late = [place for place, choice in enumerate(choices) if choice.tokens]
        kinds = {place: (choices[place].source, askers[place].coupled) for place in late}
        self._asked = {askers[place].sample: kind for place, kind in kinds.items()}
        self._fresh = {kind for kind in kinds.values() if step - self._used.get(kind[0], -RESTED) > RESTED}
        self._used |= {source: step for source, _ in kinds.values()}
        asked = {place: (self._promises[kind], choices[place].tokens) for place, kind in kinds.items()}
        return {place: (promise.gain(tokens), promise.price(tokens)) for place, (promise, tokens) in asked.items()}

    def saw(self, rounds: Iterable[Round]) -> bool:
        """What came of it; whether the round tells nothing of times, since somebody drafted behind a rest.

        One call drafted for all texts of a source, and tells once what a text takes.
        """
        fresh, self._fresh = self._fresh, set()
        calls: dict[Kind, list[Round]] = {}
        for done in rounds:
            kind = self._asked.pop(done.sample, None)
            if kind is not None and done.pass_rows and done.late_seconds is not None:
                calls.setdefault(kind, []).append(done)
        for kind, group in calls.items():
            self._learn(kind, group, kind in fresh)
        return bool(fresh)

    def _learn(self, kind: Kind, group: Sequence[Round], is_fresh: bool) -> None:
        record = self._known.of(*kind)
        for done in group:
            record.acceptance.add(done.drafted, done.accepted)
        if is_fresh and record.pace.is_measured:
            return
        levels = self._promises[kind].levels(max(done.drafted for done in group))
        tokens, seconds = sum(done.drafted for done in group), sum(done.late_seconds or 0.0 for done in group)
        record.pace.add(seconds / len(group), tokens / len(group), levels)
