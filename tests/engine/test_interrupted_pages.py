"""Wherever an interruption comes, in the midst of a change, pages go on holding their texts, and none is lost."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count

import numpy as np
import pytest

from engine.instructions import WHERE_HANDLERS_RUN, between, interrupted
from truedraw.engine.paged import ledger
from truedraw.engine.paged.ledger import Holder
from truedraw.engine.paged.page_memory import Tensors
from truedraw.engine.paged.pages import Claim, PagePool
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.texts import Limits
from truedraw.errors import EngineError, OutOfPages

ROWS, PAGES, IDLE = 2, 44, 4
LIMITS = Limits(100, 100)
FILES = "pages.py", "sequence.py", "prefixes.py", "ledger.py"
FIRST, LIKE, OTHER = [*range(1, 12)], [*range(1, 8), 70, 71, 72], [*range(50, 69)]


class Cache:
    """A pool whose slots hold the very tokens that were computed there."""

    def __init__(self) -> None:
        self.memory = Tensors([(1, ROWS, 1)], 4, PAGES)
        self.pool = PagePool(PAGES, ROWS, self.memory, IDLE)
        self.further: list[PagedSequence] = []

    def open(self, text: list[int]) -> PagedSequence:
        sequence = PagedSequence(list(text), self.pool, LIMITS, self.pool.prefixes.root)
        sequence.find()
        return sequence

    def compute(self, sequence: PagedSequence) -> None:
        past, end = sequence.cached, len(sequence.tokens)
        past = min(past, end - 1)
        self.pool.reserve([Claim(sequence.pages, past, end)])
        for slot in range(past, end):
            self.memory.tensors[0][sequence.pages[slot // ROWS], 0, slot % ROWS, 0] = sequence.tokens[slot]
        sequence.computed(end, [])

    def held_by(self, sequence: PagedSequence) -> list[int]:
        slots = range(sequence.cached)
        return [int(self.memory.tensors[0][sequence.pages[slot // ROWS], 0, slot % ROWS, 0]) for slot in slots]

    def check(self, *texts: PagedSequence) -> None:
        for each in texts:
            assert self.held_by(each) == each.tokens[: each.cached]
        with self.pool.ledger:
            """Whatever broke off is made good."""
        held = [page for each in texts for page in each.pages]
        assert self.pool._holders == [held.count(page) for page in range(PAGES)]
        idle, free = set(self.pool.prefixes._idle), self.pool._free
        assert len({*held, *idle, *free}) == len({*held}) + len(idle) + len(free) == PAGES - 1


def life(cache: Cache, own: PagedSequence) -> None:
    """All that can become of texts, beside one that lives on."""
    twin = own.forked()
    cache.compute(twin)
    like = cache.open(LIKE)
    cache.compute(like)
    twin.commit([30, 31, 32])
    cache.compute(twin)
    found = cache.open([*LIKE, 5])
    found.lose(ROWS)
    side = Holder(cache.pool.ledger)
    cache.pool.branch(side, twin.pages, 3, 9)
    like.evict()
    cache.compute(like)
    side.give_back()
    for each in (found, twin, like):
        each.close()
    for each in [cache.open(OTHER), cache.open(OTHER)]:  # which nobody closes, and find no room but idle pages
        cache.compute(each)
    cache.pool.forget_idle()


def broken_off(place: int) -> tuple[Cache, PagedSequence, bool]:
    cache = Cache()
    own = cache.open(FIRST)
    cache.compute(own)
    return cache, own, interrupted(lambda: life(cache, own), place, *FILES)


def goes_on_well(cache: Cache, *own: PagedSequence) -> None:
    cache.check(*own)
    texts = [*own, cache.open(OTHER), cache.open(LIKE), cache.open(FIRST)]
    for each in texts:
        cache.compute(each)
    own[0].commit([20, 21, 22])
    cache.compute(own[0])
    cache.check(*texts)
    for each in texts:
        each.close()
        each.close()
    cache.check()


def test_texts_hold_themselves_whatever_is_interrupted() -> None:
    for place in count():
        cache, own, was = broken_off(place)
        gc.collect(0)
        goes_on_well(cache, own)
        if not was:
            break
    assert place > 1000


@pytest.mark.parametrize("name", ["_mend", "_free"])
def test_it_would_be_found_out(name: str, monkeypatch) -> None:
    monkeypatch.setattr(ledger.Ledger, name, lambda *_: None)
    with pytest.raises((AssertionError, IndexError, OutOfPages, RecursionError)):
        test_texts_hold_themselves_whatever_is_interrupted()


def comes_between(
    others: Callable[[Cache, PagedSequence], object], behind: tuple[str, ...], broken: bool = False
) -> None:
    """`broken`: there is something to mend."""
    for place in count():
        cache = Cache()
        own, like = cache.open(FIRST), cache.open(LIKE)
        cache.compute(own)
        cache.compute(like)
        if broken:
            with suppress(RuntimeError), cache.pool.ledger:
                raise RuntimeError
        was = between(partial(life, cache, own), place, partial(others, cache, like), *FILES, behind=behind)
        goes_on_well(cache, own, *cache.further, *([] if was else [like]))
        if not was:
            break


@pytest.mark.parametrize("broken", [False, True])
def test_texts_are_closed_in_the_midst_of_a_change(broken: bool) -> None:
    """As by the garbage collector."""
    comes_between(lambda _, like: like.close(), ("",), broken)


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("text", [[*LIKE, 9, 9], OTHER])
@pytest.mark.parametrize("end", ["closes", "stays", "fails"])
def test_texts_come_and_go_in_the_midst_of_a_change(end: str, text: list[int], broken: bool) -> None:
    """By a handler of signals; it may fail, and nobody hear of it."""

    def others(cache: Cache, like: PagedSequence) -> None:
        like.close()
        with suppress(OutOfPages, EngineError, RuntimeError):
            further = cache.open(text)
            cache.compute(further)
            if end == "fails":
                with cache.pool.ledger:
                    raise RuntimeError
            if end == "stays":
                cache.further.append(further)
            else:
                further.close()

    comes_between(others, WHERE_HANDLERS_RUN, broken)


def test_what_is_closed_twice_is_given_back_once() -> None:
    """The first time breaks off when some of the pages are given back."""
    for place in count():
        cache = Cache()
        own = cache.open(FIRST)
        cache.compute(own)
        twin = own.forked()
        if not interrupted(twin.close, place, *FILES):
            break
        twin.close()
        cache.check(own)
    assert np.sum(cache.pool._holders) == len(own.pages)


def test_whoever_needs_pages_has_those_of_texts_that_are_gone() -> None:
    cache = Cache()
    texts = [cache.open([first, *range(1, 20)]) for first in (70, 71, 72)]
    for each in texts:
        cache.compute(each)
    del each, texts
    cache.compute(cache.open([*range(1, 2 * PAGES - 2)]))


# -------------------------------------------------------------------------------------------- one by one


def break_off(cache: Cache) -> None:
    with suppress(KeyboardInterrupt), cache.pool.ledger:
        raise KeyboardInterrupt


def test_behind_a_change_that_broke_off_a_text_finds_no_page_that_others_have_now() -> None:
    """It was opened before, and has computed nothing yet."""
    cache = Cache()
    late = cache.open(FIRST)
    known = cache.open(FIRST)
    cache.compute(known)
    known.close()
    break_off(cache)
    other = cache.open(OTHER)
    cache.compute(other)
    assert late.find() == 0
    cache.compute(late)
    cache.check(late, other)


def test_what_could_be_found_before_is_written_in_its_place_afterwards() -> None:
    cache = Cache()
    own = cache.open(FIRST)
    cache.compute(own)
    break_off(cache)
    assert cache.pool.missing([Claim(own.pages, 0, len(own.tokens))]) == 0
    cache.check(own)


def test_who_has_only_begun_to_give_pages_back_has_them() -> None:
    """An interruption came behind the first step of that."""
    cache = Cache()
    own, other = cache.open(FIRST), cache.open(OTHER)
    cache.compute(own)
    cache.pool.ledger.left.append(own._entry)
    cache.compute(other)
    cache.check(own, other)
    assert own.pages
