"""Engines that are right in short texts, small trees and small passes: the suite looks further."""

from __future__ import annotations

import pytest

from testing.failures import failures
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.errors import OutOfPages
from truedraw.protocol import ROOT
from truedraw.testing import engine_checks, random_table

TABLE = random_table(4, 2, 1)
BEHIND, FILLS, PASS = "drafts behind long texts", "several fills in one pass", "long texts in one pass"


class Moving(TabularEngine):
    """All rows of a work move by a hair where `wrong` says, in a pass of these works and fills."""

    def __init__(self, most=0):
        super().__init__(TABLE, context_length=1024)
        self.most = most

    def forward(self, works, fills=()):
        scores = super().forward(works, fills)
        for work in works:
            work.sequence.drafted = len(work.proposal)
        wrong = [self.wrong(work, works, fills) for work in works]
        return [type(each)(each.logits * (1 + 1e-9 * bad)) for each, bad in zip(scores, wrong, strict=True)]

    def wrong(self, work, works, fills):
        return False


class WithDrafts(Moving):
    def wrong(self, work, works, fills):
        return len(work.sequence.tokens) >= self.most and len(work.proposal) > 0


class WithLargeTrees(Moving):
    def wrong(self, work, works, fills):
        chain = list(range(ROOT, len(work.proposal) - 1))
        return len(work.proposal) > self.most and work.proposal.parents.tolist() != chain


class WithFills(Moving):
    def wrong(self, work, works, fills):
        return len(fills) > self.most


class BesideALongText(Moving):
    def wrong(self, work, works, fills):
        long = [each for each in works if len(each.sequence.tokens) >= self.most]
        return len(long) > 1 and work is not long[0]


class Grown(TabularSequence):
    drafted, grown, evicted, forked = 0, False, False, False

    def commit(self, tokens):
        super().commit(tokens)
        self.grown = self.drafted > 3 and len(tokens) > 5

    def evict(self):
        super().evict()
        self.evicted = True


class OfGrownTexts(Moving):
    """Long ones that `spoils` names: here those to which a path of a tree was committed."""

    spoils = "grown"

    def open(self, tokens):
        return Grown(super().open(tokens).tokens)

    def fork(self, sequence, n):
        found = [Grown(each.tokens, each.cached) for each in super().fork(sequence, n)]
        for each in found:
            each.forked = True
        return found

    def wrong(self, work, works, fills):
        return len(work.sequence.tokens) >= self.most and getattr(work.sequence, self.spoils)


class OfEvictedTexts(OfGrownTexts):
    spoils = "evicted"


class OfForks(OfGrownTexts):
    spoils = "forked"


WRONG = {
    WithDrafts: (BEHIND, (64, 300, 500)),
    WithLargeTrees: (BEHIND, (7, 16, 25)),
    WithFills: (FILLS, (2, 3)),
    BesideALongText: (PASS, (100, 300)),
    OfGrownTexts: (BEHIND, (100, 500)),
    OfEvictedTexts: (BEHIND, (100, 500)),
    OfForks: (BEHIND, (100, 500)),
}


class EndsAtAPage(TabularSequence):
    """Remembers that a commit filled its last page."""

    at_page = filled = evicted = False

    def commit(self, tokens):
        super().commit(tokens)
        self.at_page |= len(self.tokens) % 32 == 0

    def evict(self):
        super().evict()
        self.evicted = True


class OfEdges(Moving):
    def open(self, tokens):
        return EndsAtAPage(super().open(tokens).tokens)

    def fork(self, sequence, n):
        return [EndsAtAPage(each.tokens, each.cached) for each in super().fork(sequence, n)]

    def forward(self, works, fills=()):
        for fill in fills:
            fill.sequence.filled = True
        return super().forward(works, fills)


class BehindFullPages(OfEdges):
    def wrong(self, work, works, fills):
        return work.sequence.at_page and len(work.proposal) > 0


class TreesBehindOneToken(OfEdges):
    def wrong(self, work, works, fills):
        return len(work.sequence.tokens) == 1 and len(work.proposal) > 1


class FilledAgain(OfEdges):
    def wrong(self, work, works, fills):
        return work.sequence.evicted and work.sequence.filled


def failing(make) -> set[str]:
    return set(failures(engine_checks(make), AssertionError, OutOfPages))


@pytest.mark.parametrize(("kind", "most"), [(kind, most) for kind, (_, all_of) in WRONG.items() for most in all_of])
def test_wrong_beyond_a_size(kind, most) -> None:
    assert WRONG[kind][0] in failing(lambda: kind(most))


EDGES = {
    BehindFullPages: "texts of every length",
    TreesBehindOneToken: "texts of every length",
    FilledAgain: "evicted texts come back",
}


@pytest.mark.parametrize("kind", EDGES, ids=lambda kind: kind.__name__)
def test_wrong_at_an_edge(kind) -> None:
    assert EDGES[kind] in failing(kind)


def test_right_at_every_edge() -> None:
    assert failing(OfEdges) == set()


def test_right_at_every_size() -> None:
    assert failing(Moving) == set()


def test_no_more_is_asked_than_there_is_room_for() -> None:
    class Small(Moving):
        def fits(self, works, fills=()):
            return sum(len(work.sequence.tokens) + len(work.proposal) for work in works) <= 1100

        def forward(self, works, fills=()):
            if not self.fits(works, fills):
                raise OutOfPages("it has room for 1100 tokens")
            return super().forward(works, fills)

    assert failing(Small) == set()
