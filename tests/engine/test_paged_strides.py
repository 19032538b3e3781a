"""Rounds at once over pages: what counts as computed behind them is what their passes have written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from truedraw.engine.paged.abreast import PagedAbreast
from truedraw.engine.paged.page_memory import Tensors
from truedraw.engine.paged.pages import Claim, PagePool
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.paged.stride import PagedStride, has_pages
from truedraw.engine.texts import Limits
from truedraw.protocol import Proposal

ROWS, PAGES = 4, 20
Round = tuple[list[int], list[int]]  # drafts, and what is kept of them


class Cache:
    """Slots hold the very tokens that were computed there; as a runner it writes those of a stride."""

    def __init__(self) -> None:
        self.memory = Tensors([(1, ROWS, 1)], 4, PAGES)
        self.pool = PagePool(PAGES, ROWS, self.memory, PAGES)

    def open(self, text: list[int]) -> PagedSequence:
        sequence = PagedSequence(list(text), self.pool, Limits(100, 100), self.pool.prefixes.root)
        self.compute(sequence)
        return sequence

    def compute(self, sequence: PagedSequence, drafts: tuple[int, ...] = ()) -> None:
        past = len(sequence.tokens) - sequence.num_uncached
        self.pool.reserve([Claim(sequence.pages, past, len(sequence.tokens) + len(drafts))])
        self.along(sequence, past, [*sequence.tokens[past:], *drafts])
        sequence.computed(len(sequence.tokens), [*drafts])

    def along(self, sequence: PagedSequence, past: int, ids: list[int]) -> tuple[Any, None]:
        for slot, token in enumerate(ids, past):
            self.memory.tensors[0][sequence.pages[slot // ROWS], 0, slot % ROWS, 0] = token
        return np.zeros((len(ids), 2)), None

    def held_by(self, sequence: PagedSequence) -> list[int]:
        slots = range(len(sequence.tokens) - sequence.num_uncached)
        return [int(self.memory.tensors[0][sequence.pages[slot // ROWS], 0, slot % ROWS, 0]) for slot in slots]

    def check(self, *texts: PagedSequence) -> None:
        for each in texts:
            assert self.held_by(each) == each.tokens[: len(each.tokens) - each.num_uncached]


def alone(cache: Cache, texts: list[PagedSequence], rounds: list[Round], end: bool) -> None:
    """One text after the other."""
    for each in texts:
        runner: Any = cache
        stride = PagedStride(each, 9, runner, each, lambda _: None)  # type: ignore[arg-type, return-value]
        for drafts, kept in rounds:
            stride.score(Proposal.chain(drafts))
            stride.keep(kept)
        if end:
            stride.end()


def together(cache: Cache, texts: list[PagedSequence], rounds: list[Round], end: bool) -> None:
    """As compiled code writes them, which the job tells where."""
    job: Any = SimpleNamespace(past=np.zeros(len(texts), int), ids=np.zeros(0), positions=np.zeros(0))
    passes = PagedAbreast(texts, job)
    for each, before in zip(texts, job.past.tolist(), strict=True):
        text = list(each.tokens)
        assert before == len(text) - 1
        for drafts, kept in rounds:
            cache.along(each, len(text) - 1, [text[-1], *drafts])
            text += kept
    if end:
        passes.end([[token for _, kept in rounds for token in kept]] * len(texts))


def run(way: Any, cache: Cache, texts: list[PagedSequence], rounds: list[Round], end: bool = True) -> None:
    assert has_pages(texts, [sum(1 + len(drafts) for drafts, _ in rounds)] * len(texts))
    way(cache, texts, rounds, end)


WAYS = pytest.mark.parametrize("way", [alone, together])


@WAYS
def test_one_that_is_dropped_leaves_no_draft_of_an_earlier_pass(way: Any) -> None:
    """Its passes have written where that stood."""
    cache = Cache()
    text = cache.open([1, 2, 3])
    cache.compute(text, drafts=(5, 6))
    text.commit([5])
    run(way, cache, [text], [([7, 8], [])] if way is alone else [([7, 8], [9])], end=False)
    text.commit([6, 4])
    cache.check(text)


@WAYS
@pytest.mark.parametrize("length", range(1, 2 * ROWS + 2))
def test_the_last_token_is_yet_to_be_computed(way: Any, length: int) -> None:
    """Also where the text goes on before any other pass."""
    cache = Cache()
    text = cache.open([*range(1, 1 + length)])
    run(way, cache, [text], [([50], [50, 51]), ([60], [61]), ([70], [70, 71])])
    assert text.tokens[length:] == [50, 51, 61, 70, 71]
    assert text.num_uncached == 1
    cache.check(text)
    text.commit([80])
    assert text.num_uncached == 2
    cache.check(text)


@WAYS
@pytest.mark.parametrize("length", range(1, 2 * ROWS + 2))
def test_of_texts_that_share_a_page_each_writes_to_its_own(way: Any, length: int) -> None:
    """Also where its last token alone stands in that page, behind all that is computed."""
    cache = Cache()
    own = cache.open([*range(1, 1 + length)])
    twin = own.forked()
    for text, token in ((own, 30), (twin, 40)):
        text.commit([token])
    for text, token in ((own, 31), (twin, 41)):
        run(way, cache, [text], [([token], [token, token + 1]), ([], [token + 2])])
    cache.check(own, twin)
    assert own.pages[length // ROWS] != twin.pages[length // ROWS]


@WAYS
@pytest.mark.parametrize("length", range(1, 2 * ROWS + 2))
def test_all_slots_that_are_written_are_had_before(way: Any, length: int) -> None:
    """As many rounds as were asked for, with all drafts kept in each."""
    cache = Cache()
    text = cache.open([*range(1, 1 + length)])
    run(way, cache, [text], [([50 + k], [50 + k, 60 + k]) for k in range(4)])
    cache.check(text)
