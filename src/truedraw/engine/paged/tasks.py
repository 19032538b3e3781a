"""What a pass is to do for each text: how far to compute it, and the slots that takes."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import Protocol

from truedraw.engine.paged.pages import Claim
from truedraw.engine.paged.parts import LONE_ROWS, Part, chunk, scored_chain, scored_tree
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.trees import is_chain, paths
from truedraw.protocol import Proposal


class Task(Protocol):
    """One text in a pass. `goal`: tokens of it that can be computed in passes before the last."""

    sequence: PagedSequence
    goal: int

    @property
    def unrolled(self) -> bool:
        """The last pass has several lanes, each of which would repeat the text that is not cached."""
        ...

    def claim(self) -> Claim:
        """Slots of the text's own pages that are written, all passes together."""
        ...

    def aside(self) -> int:
        """Pages needed for as long as the last pass takes."""
        ...

    def part(self) -> Part:
        """What is left for the last pass."""
        ...


class Filling:
    """The next `count` uncached tokens of a text, but for its last one; no scores."""

    __slots__ = ("goal", "sequence")

    def __init__(self, sequence: PagedSequence, count: int) -> None:
        self.sequence = sequence
        self.goal = min(sequence.cached + count, len(sequence.tokens) - 1)

    @property
    def unrolled(self) -> bool:
        """See Task."""
        return False

    def claim(self) -> Claim:
        """See Task."""
        first = self.sequence.cached
        return Claim(self.sequence.pages, first, max(self.goal, first + LONE_ROWS))

    def aside(self) -> int:
        """See Task."""
        return 0

    def part(self) -> Part:
        """See Task."""
        return chunk(self.sequence, self.goal - self.sequence.cached)


class Scoring:
    """All of the text, then the nodes of a proposal, with scores."""

    __slots__ = ("_chained", "_paths", "_proposal", "goal", "sequence")

    def __init__(self, sequence: PagedSequence, proposal: Proposal, unroll: bool) -> None:
        self.sequence, self._proposal = sequence, proposal
        self.goal = len(sequence.tokens) - 1
        self._chained = is_chain(proposal)
        self._paths = paths(proposal) if unroll and not self._chained else []

    @property
    def unrolled(self) -> bool:
        """See Task."""
        return bool(self._paths)

    def claim(self) -> Claim:
        """See Task."""
        length = len(self.sequence.tokens)
        nodes = len(self._paths[0]) if self._paths else len(self._proposal.tokens)
        return Claim(self.sequence.pages, length - self.sequence.num_uncached, length + max(nodes, LONE_ROWS - 1))

    def aside(self) -> int:
        """See Task."""
        if not self._paths:
            return 0
        length, rows = len(self.sequence.tokens), self.sequence.pool.rows
        return sum(-(-(length + len(path)) // rows) - self.goal // rows for path in self._paths[1:])

    def part(self) -> Part:
        """See Task."""
        if self._chained:
            return scored_chain(self.sequence, self._proposal.tokens.tolist())
        return scored_tree(self.sequence, self._proposal, self._paths)


def needs(tasks: Seq[Task]) -> tuple[list[Claim], int]:
    """The claims of a pass, and the number of pages needed beside them."""
    return [task.claim() for task in tasks], sum([task.aside() for task in tasks])


def most_needed(sequence: PagedSequence, nodes: int) -> int:
    """Pages that a tree of so many nodes behind a text can take, whatever its shape: a bound without a look at any."""
    rows = sequence.pool.rows
    own = (sequence.num_uncached + nodes + LONE_ROWS) // rows + 2
    return own + nodes * ((nodes + 1) // rows + 2)


def unfinished(tasks: Seq[Task]) -> list[Task]:
    """Those whose goal is still ahead."""
    return [task for task in tasks if task.goal > task.sequence.cached]


def rows_ahead(tasks: Seq[Task]) -> int:
    """Rows that can still be computed before the last pass."""
    return sum([max(0, task.goal - task.sequence.cached) for task in tasks])


def next_chunk(tasks: Seq[Task], room: int) -> list[Part]:
    """Up to `room` rows, the first texts first; one more where it would be left alone and need a slot more."""
    parts: list[Part] = []
    for task in unfinished(tasks):
        if room > 0:
            left = task.goal - task.sequence.cached
            parts.append(chunk(task.sequence, left if left <= room + 1 else room))
            room -= len(parts[-1].ids)
    return parts
