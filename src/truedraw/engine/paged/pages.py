"""Pages of the cache, and who holds which one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence as Seq
from copy import copy
from heapq import heappop, heappush
from typing import NamedTuple

from truedraw.engine.paged.ledger import Holder, Ledger
from truedraw.engine.paged.page_memory import Memory
from truedraw.engine.paged.prefixes import Block, Prefixes, Tokens
from truedraw.errors import OutOfPages

SCRATCH = 0
"""The page that padding rows write to; nobody reads it."""


class Claim(NamedTuple):
    """Slots first .. end - 1 of a table of pages are to be written."""

    pages: list[int]
    first: int
    end: int


class PagePool:
    """Counts the holders of every page; a page is shared until one of its holders writes to it.

    A page that nobody holds is free, or idle (prefixes.py): an idle one is found by equal text, and becomes free
    when another page is wanted. `reserve`, `branch` and `forget_idle` are changes by themselves; `share`, `release` and
    `keep` are parts of one, `with pool.ledger`.
    """

    def __init__(self, num_pages: int, rows: int, memory: Memory, max_idle: int = 0) -> None:
        self.rows = rows  # slots a page
        self.page_bytes = memory.page_bytes
        self.num_pages = num_pages - SCRATCH - 1
        self.prefixes, self.ledger = Prefixes(max_idle), Ledger(self.release, self._restore)
        self._memory = memory
        self._holders = [0] * num_pages
        self._free = list(range(SCRATCH + 1, num_pages))  # a heap: low pages first keeps touched memory small

    def first(self, tensors: int) -> PagePool:
        """The same pages and holders, for texts of which only the first tensors of a page are ever computed.

        Such texts must not be kept for equal ones to find: what they lack would be missed.
        """
        some = copy(self)
        some._memory = self._memory.first(tensors)
        return some

    @property
    def num_free(self) -> int:
        """Pages that nobody holds, the idle ones among them."""
        return len(self._free) + self.prefixes.num_idle

    @property
    def num_available(self) -> int:
        """Those that may be had now."""
        return len(self._free) if self.ledger.is_within else self.num_free

    def share(self, pages: Seq[int]) -> None:
        """One more holder for each page."""
        for page in pages:
            if not self._holders[page]:
                self.prefixes.wake(page)
            self._holders[page] += 1

    def release(self, pages: Seq[int]) -> None:
        """One holder fewer for each page of a table; the last page first, as prefixes.py wants it."""
        for page in reversed(pages):
            self._holders[page] -= 1
            if not self._holders[page]:
                self._put_away(page)

    def forget_idle(self) -> None:
        """Free the idle pages, so that no text finds what ended ones have left."""
        with self.ledger:
            while self.prefixes.num_idle and not self.ledger.is_within:
                heappush(self._free, self.prefixes.forget_oldest())

    def keep(self, above: Block, tokens: Tokens, page: int) -> Block:
        """Let equal text find a full page of text below `above`, which will not be written any more.

        Returns the block to hold from now on: where the same text had been computed before, that page, instead of
        the given one, which is released.
        """
        block = self.prefixes.add(above, tokens, page)
        if block.page != page:
            self.share([block.page])
            self.release([page])
        return block

    def missing(self, claims: Seq[Claim], aside: int = 0) -> int:
        """Pages that `reserve` would take for the claims and `aside` more: fresh ones, and copies of shared ones."""
        self.ledger.settle()
        rows, holders, prefixes = self.rows, self._holders, self.prefixes
        fresh, shared = aside, []
        for pages, first, end in claims:
            needed = -(-end // rows)
            fresh += max(0, needed - len(pages))
            for page in pages[first // rows : needed]:
                if holders[page] > 1 or page in prefixes:
                    shared.append(page)
        if not shared:
            return fresh
        return fresh + sum(self._copies(page, writers) for page, writers in Counter(shared).items())

    def reserve(self, claims: Seq[Claim], aside: int = 0) -> None:
        """Make the claimed slots writable and their holder's own, and leave room for `aside` pages more.

        The page lists are extended and shared pages replaced by copies; OutOfPages, and no change, where the pages
        do not suffice.
        """
        missing = self.missing(claims, aside)
        with self.ledger:
            scarce = missing > self.num_available
            for pages, first, end in () if scarce or missing == aside else claims:
                for index in range(first // self.rows, -(-end // self.rows)):
                    self._own(pages, index)
        if scarce:
            raise OutOfPages(self._too_small(missing))

    def branch(self, holder: Holder, pages: list[int], first: int, end: int) -> None:
        """Let one who holds nothing have `pages` before slot `first`, and pages of its own from there to `end`.

        OutOfPages, and no change, where the pages do not suffice.
        """
        shared, slots = divmod(first, self.rows)
        count = -(-end // self.rows) - shared
        with self.ledger:
            scarce = count > self.num_available
            if not scarce:
                own = [self._take() for _ in range(count)]
                if slots:
                    self._memory.copy(pages[shared], own[0], slots)
                self.share(pages[:shared])
                holder.pages = [*pages[:shared], *own]
        if scarce:
            raise OutOfPages(self._too_small(count))

    def bytes_for(self, slots: int) -> int:
        """A cache that has room for one text in so many slots: its pages, and a copy of one that others share."""
        return (SCRATCH + 1 + -(-slots // self.rows) + 1) * self.page_bytes

    def _copies(self, page: int, writers: int) -> int:
        """The last holder writes to the page itself, but never where others can find it."""
        return writers if page in self.prefixes else min(writers, self._holders[page] - 1)

    def _own(self, pages: list[int], index: int) -> None:
        if index >= len(pages):
            pages.append(self._take())
        elif self._holders[pages[index]] > 1 or pages[index] in self.prefixes:
            copy = self._take()
            self._memory.copy(pages[index], copy, self.rows)
            self.release([pages[index]])
            pages[index] = copy

    def _take(self) -> int:
        if not self.num_free:  # somebody has come between
            raise OutOfPages(self._too_small(1))
        page = heappop(self._free) if self._free else self.prefixes.forget_oldest()
        self._holders[page] = 1
        return page

    def _put_away(self, page: int) -> None:
        prefixes = self.prefixes
        if page not in prefixes:
            heappush(self._free, page)
            return
        prefixes.rest(page)
        while prefixes.num_idle > prefixes.max_idle and not self.ledger.is_within:
            heappush(self._free, prefixes.forget_oldest())

    def _restore(self, tables: Seq[Seq[int]]) -> None:
        """See Ledger."""
        self.prefixes.forget_all()
        held = Counter([page for table in tables for page in table])
        self._holders[:] = [held[page] for page in range(len(self._holders))]
        self._free[:] = [page for page in range(SCRATCH + 1, len(self._holders)) if not held[page]]

    def _too_small(self, needed: int) -> str:
        each, total = self._memory.page_bytes, len(self._holders)
        held = total - self.num_free
        wanted = f"{needed} more are needed" if needed > 1 else "one more is needed"
        return (
            f"the cache is out of pages: {wanted} and {self.num_free} of {self.num_pages} are free; "
            f"run fewer or shorter texts at once, or raise cache_bytes from {total * each} "
            f"to at least {(held + needed) * each}"
        )
