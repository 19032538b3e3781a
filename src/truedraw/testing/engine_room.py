"""Checks of an engine: pages that are given back, shared by texts that begin alike, and too few."""

from __future__ import annotations

from truedraw.errors import OutOfPages
from truedraw.protocol import Fill, Proposal, Sequence, Work
from truedraw.testing.bench import Bench
from truedraw.testing.checks import require

WHOLE = 64  # tokens: a multiple of most pages
LONG_TEXT = 400  # tokens
MOST_TEXTS = 512  # an engine that has room for so many long texts is as good as without limit
MOST_COMPUTED = 4096  # tokens: more are not computed just to fill a cache


def evictions(bench: Bench) -> None:
    """At any moment, and as often as one likes: the text stays, and so do all of its rows and its forks."""
    text, draft = bench.text(), [1, 0, 1]
    sequence = bench.engine.open(text)
    sequence.evict()
    _require_rows(bench, sequence, text, "evicted before its first pass")
    (twin,) = bench.engine.fork(sequence, 1)
    bench.engine.forward([Work(sequence, Proposal.chain(draft))])
    sequence.evict()
    sequence.evict()
    sequence.commit(draft[:2])
    _require_rows(bench, sequence, [*text, *draft[:2]], "evicted between a pass and its commit")
    _require_rows(bench, twin, text, "forked from one that was evicted")
    _filled_again(bench, {sequence: [*text, *draft[:2]], twin: text})
    for each in (twin, sequence):
        each.evict()
        each.close()


def _filled_again(bench: Bench, texts: dict[Sequence, list[int]]) -> None:
    """In pieces, as texts are that had to wait."""
    for sequence, text in texts.items():
        sequence.evict()
        for _ in range(2):
            if sequence.num_uncached > 2:
                bench.engine.forward([], [Fill(sequence, sequence.num_uncached // 2)])
        _require_rows(bench, sequence, text, "evicted and filled in pieces")


def _require_rows(bench: Bench, sequence: Sequence, text: list[int], what: str) -> None:
    require(list(sequence.tokens) == text, f"a text {what} has other tokens than it had")
    require(1 <= sequence.num_uncached <= len(text), f"a text {what} has {sequence.num_uncached} uncached tokens")
    proposal = Proposal.chain([0, 1])
    found = bench.engine.forward([Work(sequence, proposal)])[0].logits.copy()
    bench.require_equal(found, bench.rows(text, proposal), f"a text {what}")


def beginnings(bench: Bench) -> None:
    """Texts that begin alike, or nearly so, while the first one is open and after; each as if it were the only one."""
    first, second = bench.text(WHOLE, seed=3), bench.text(WHOLE, seed=4)
    swapped = [*first[1::-1], *first[2:]]
    texts = [
        [*first, *second, 1],
        [*first, *second],
        [*first, *first, 1],
        [*second, *first, 1],
        [*second, *second, 1],
        [*swapped, *second, 1],
        [*first, *second[1::-1], *second[2:], 1],
        [*sorted(first), *second, 1],
    ]
    fitting = [text for text in texts if len(text) < bench.engine.context_length]
    chosen = fitting or [text[-bench.engine.context_length // 2 :] for text in texts]
    with bench.elsewhere() as rows:  # the last text first, so that each one has other predecessors there
        expected = [rows(text) for text in reversed(chosen)][::-1]
    for keep in (True, False):
        opened = bench.engine.open(chosen[0])
        bench.engine.forward([Work(opened)])
        if not keep:
            opened.close()
        for number, text in enumerate(chosen):
            bench.require_equal(bench.rows(text), expected[number], f"text {number} of several that begin alike")
        opened.close()


def full(bench: Bench) -> None:
    """It is announced, refused, and leaves everything as it was; what is given back can be used."""
    sequences: list[Sequence] = []
    while len(sequences) < MOST_TEXTS and bench.engine.fits([Work(each) for each in sequences]):
        sequences.append(bench.engine.open(bench.text(LONG_TEXT, seed=len(sequences))))
    works = [Work(each) for each in sequences]
    if not bench.engine.fits(works):
        require(len(works) > 1, "a single text has no room; make the engine with a larger cache")
        _require_refused(bench, works)
        _require_room_again(bench, works)
    else:
        bench.engine.forward(works[: MOST_COMPUTED // LONG_TEXT])
    for each in sequences:
        each.close()


def _require_refused(bench: Bench, works: list[Work]) -> None:
    before = [work.sequence.num_uncached for work in works]
    try:
        bench.engine.forward(works)
    except OutOfPages:
        after = [work.sequence.num_uncached for work in works]
        require(after == before, f"a pass without room changed num_uncached from {before} to {after}")
    else:
        raise AssertionError(f"a pass of {len(works)} texts ran though `fits` said that it has no room")
    _require_rows(bench, works[0].sequence, list(works[0].sequence.tokens), "refused for want of room")


def _require_room_again(bench: Bench, works: list[Work]) -> None:
    """All but one fit, and that one when another two make room."""
    *others, late = works
    if sum(len(work.sequence.tokens) for work in others) > MOST_COMPUTED:
        return
    require(bench.engine.fits(others), f"{len(others)} texts fitted, but not after a pass that was refused")
    bench.engine.forward(others)
    for work in others[:2]:
        work.sequence.evict()
    require(bench.engine.fits([late]), "two texts were evicted, and there is no room for one")
    for work in (late, *others[:1]):
        found = bench.engine.forward([work])[0].logits.copy()
        work.sequence.evict()
        bench.require_equal(found, bench.rows(work.sequence.tokens), "a text that had to wait for room")
