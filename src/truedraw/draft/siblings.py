"""How often the first, second, ... candidate at one place is kept: what the shape of a drawn tree follows.

Texts differ (first tokens of the shipped head at T = 1: .43 of stories, .23 of translations, with a standard deviation
of .07), and a text hardly changes: what became of a draft says nothing of the next one beyond the text's own mean. So
each text has counts of its own, and what is usual of the drafter is where they begin.

Learnt from rounds that have ended, so what a round drafts is settled before it draws (algorithm L2); texts that learn
from one another remain independent, see ngram_lm.py. What is long ago counts less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

MEMORY, MEMORY_OF_TEXT = 1600, 200  # places that counts reach back, of all texts and of one
PRIOR_TRIES = 160.0  # tries that weigh as much as what was thought before: one text says little of the others
USUAL_TRIES = 20.0  # tries of a text that weigh as much as what is usual: that is how much texts differ
STEP = 0.01  # chances are told in such steps, so that shapes are met again
EVERY, EVERY_OF_ALL = 4, 64  # places of a text, or of all, between two looks at what was learnt


class Counts:
    """How often candidates were kept by their number, of those that were tried."""

    def __init__(self, numbers: int, memory: int) -> None:
        self._kept, self._tried = [0.0] * numbers, [0.0] * numbers
        self._fades = 1 - 1 / memory

    def add(self, offered: int, kept: int | None) -> None:
        """One place; what is long ago counts less."""
        tried, fades = offered if kept is None else kept + 1, self._fades
        self._kept = [fades * each for each in self._kept]
        self._tried = [fades * each + 1.0 for each in self._tried[:tried]] + [
            fades * each for each in self._tried[tried:]
        ]
        if kept is not None and kept < len(self._kept):
            self._kept[kept] += 1.0

    def given(self, prior: Sequence[float], weight: float) -> list[float]:
        """That a candidate is kept, given that none before it was; `prior` weighs as much as so many tries."""
        numbers = zip(self._kept, self._tried, prior, strict=True)
        return [(kept + weight * before) / (tried + weight) for kept, tried, before in numbers]


class Siblings:
    """What is usual: `given` by number, that a candidate is kept when none before it was, over all texts of a drafter.

    `first` guesses, each in [0, 1], hold until more is known. One thread at a time; drafters of a model share it.
    """

    learns = True

    def __init__(self, first: Sequence[float]) -> None:
        self._prior = [*map(float, first)]
        self._counts = Counts(len(first), MEMORY)
        self.places = 0

    @property
    def given(self) -> list[float]:
        """See above."""
        return self._counts.given(self._prior, PRIOR_TRIES)

    def saw(self, offered: int, kept: int | None) -> None:
        """At one place so many candidates were tried, and the one of this number kept; None: none was.

        Nothing is known of further candidates than there were guesses.
        """
        self.places += 1
        self._counts.add(offered, kept)


class Settled(Siblings):
    """Chances that nothing changes: for a drafter that is asked outside a run."""

    learns = False

    def saw(self, offered: int, kept: int | None) -> None:
        """Nothing is learnt."""


class OfText:
    """The same for one text, which is thought to be as usual until it shows how it is."""

    def __init__(self, usual: Siblings) -> None:
        self._usual, self._counts = usual, Counts(len(usual.given), MEMORY_OF_TEXT)
        self._places = 0
        self._at, self._chances = (0, usual.places), told(usual.given)  # places when they were settled

    @property
    def chances(self) -> tuple[float, ...]:
        """By number: that a candidate is kept and none before it was. What others have shown counts as well."""
        places, usual = self._at
        if self._places >= places + EVERY or self._usual.places >= usual + EVERY_OF_ALL:
            self._at = self._places, self._usual.places
            self._chances = told(self._counts.given(self._usual.given, USUAL_TRIES))
        return self._chances

    def saw(self, offered: int, kept: int | None) -> None:
        """As Siblings.saw, which hears it, too."""
        if not self._usual.learns:
            return
        self._usual.saw(offered, kept)
        self._counts.add(offered, kept)
        self._places += 1


def told(given: Sequence[float]) -> tuple[float, ...]:
    """Chances that a candidate is kept and none before it was, from those given that.

    Each is at most the one before: what was seldom tried is not believed to be better.
    """
    left, found = 1.0, list[float]()
    for chance in given:
        step = max(round(left * chance / STEP), 1) * STEP
        found.append(min(step, found[-1]) if found else step)
        left *= 1.0 - chance
    return tuple(found)


class Known(Protocol):
    """What is known of one drafter's candidates under one kind of rule."""

    def __call__(self, first: Sequence[float]) -> Siblings:
        """From these guesses on, where nothing is known yet."""
        ...
