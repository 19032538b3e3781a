"""What may stand in a pass: sequences of this cache, sound proposals, and as many pages as they take."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import NamedTuple

from truedraw.engine.paged.pages import PagePool
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.paged.tasks import Filling, Scoring, Task, most_needed, needs, unfinished
from truedraw.engine.texts import FOREIGN, Limits, beginning
from truedraw.engine.works import checked
from truedraw.errors import EngineError, OutOfPages
from truedraw.protocol import Fill, Sequence, Work


class Use(NamedTuple):
    """Tokens of text, see CacheUse."""

    asked: int = 0
    found: int = 0


class Admission:
    """To the passes over one cache. `unrolled`: trees are computed path by path."""

    def __init__(self, pool: PagePool, limits: Limits, unrolled: bool) -> None:
        self._pool, self._limits, self._unrolled = pool, limits, unrolled
        self.use = Use()

    def open(self, tokens: Seq[int], alone: bool) -> PagedSequence:
        """A text, with the pages that hold its beginning unless it is to be `alone`; raises as Engine.open."""
        ids, prefixes = beginning(tokens, self._limits), self._pool.prefixes
        root = None if alone or not prefixes.max_idle else prefixes.root
        sequence = PagedSequence(ids, self._pool, self._limits, root)
        self._used(sequence.ask(), sequence.find())
        return sequence

    def with_room(self, works: Seq[Work], fills: Seq[Fill]) -> list[Task]:
        """The checked tasks, their pages taken; text that others have computed since is found first.

        Raises as Engine.forward, and then has changed nothing.
        """
        sequences = checked(works, fills, self.own, self._limits)
        if asked := sum([sequence.ask() for sequence in sequences]):
            self._used(asked, 0)
        found = [sequence.find() for sequence in sequences]
        tasks = self._tasks(sequences, works, fills)
        try:
            self._pool.reserve(*needs(tasks))
        except OutOfPages:
            _lose(sequences, found)
            raise
        if any(found):
            self._used(0, sum(found))
        return tasks

    def fits(self, works: Seq[Work], fills: Seq[Fill]) -> bool:
        """Whether with_room() would find the pages; raises EngineError where it would for another reason."""
        self._pool.ledger.settle()
        sequences = checked(works, fills, self.own, self._limits)
        if not fills and self._has_plenty(sequences, works):
            return True
        found = [sequence.find() for sequence in sequences]
        fits = self._pool.missing(*needs(self._tasks(sequences, works, fills))) <= self._pool.num_available
        _lose(sequences, found)
        return fits

    def own(self, sequence: Sequence) -> PagedSequence:
        """The sequence, if it is one of this cache and open; raises EngineError."""
        if not isinstance(sequence, PagedSequence) or sequence.pool is not self._pool:
            raise EngineError(FOREIGN)
        sequence.check_open()
        return sequence

    def _used(self, asked: int, found: int) -> None:
        self.use = Use(self.use.asked + asked, self.use.found + found)

    def _has_plenty(self, sequences: Seq[PagedSequence], works: Seq[Work]) -> bool:
        """For trees of any shape with as many nodes."""
        most = [most_needed(each, len(work.proposal)) for each, work in zip(sequences, works, strict=True)]
        return sum(most) <= self._pool.num_available

    def _tasks(self, sequences: Seq[PagedSequence], works: Seq[Work], fills: Seq[Fill]) -> list[Task]:
        """Of their sequences, which are checked; a fill that has found all it wanted is none any more."""
        scorings: list[Task] = [
            Scoring(own, work.proposal, self._unrolled) for own, work in zip(sequences, works, strict=False)
        ]
        if not fills:
            return scorings
        behind = zip(sequences[len(works) :], fills, strict=True)
        return scorings + unfinished([Filling(own, fill.count) for own, fill in behind])


def _lose(sequences: Seq[PagedSequence], found: Seq[int]) -> None:
    for sequence, count in zip(sequences, found, strict=True):
        sequence.lose(count)
