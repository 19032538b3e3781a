"""Pages of the cache: memory that costs nothing until it is written, and who holds which page."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence as Seq
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadParameter, EngineError

SCRATCH = 0
"""The page that padding rows write to; nobody reads it."""


class PageMemory:
    """Keys and values of all pages, one tensor a layer and kind, in one reservation of address space.

    `shapes` are those of one page in each tensor, [heads, slots, head_dim]. Physical memory is used when a page is
    first written.
    """

    def __init__(self, shapes: Seq[tuple[int, int, int]], item_bytes: int, num_pages: int) -> None:
        sizes = [int(np.prod(shape)) * item_bytes for shape in shapes]
        self.page_bytes = sum(sizes)
        whole = np.frombuffer(_reserve(self.page_bytes * num_pages), np.uint8)
        starts = (np.cumsum([0, *sizes]) * num_pages).tolist()
        self.tensors: list[NDArray[np.uint8]] = [
            whole[start:end].reshape(num_pages, heads, slots, head_dim * item_bytes)
            for (start, end), (heads, slots, head_dim) in zip(pairwise(starts), shapes, strict=True)
        ]

    def copy(self, source: int, target: int, slots: int) -> None:
        """Copy the first slots of one page in every tensor."""
        for tensor in self.tensors:
            tensor[target, :, :slots] = tensor[source, :, :slots]


def _reserve(num_bytes: int) -> mmap.mmap:
    """Anonymous zeroed memory; huge pages off, since one would make 2 MiB resident for a page of a few KiB."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return mmap.mmap(-1, num_bytes)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(-1, num_bytes, flags=flags)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        except OSError:  # a kernel without huge pages
            return memory
    return memory


class PagePool:
    """Counts the holders of every page; a page is shared by forks until one of them writes to it."""

    def __init__(self, num_pages: int, rows: int, memory: PageMemory) -> None:
        self.rows = rows  # slots a page
        self._memory = memory
        self._holders = np.zeros(num_pages, np.int64)
        self._free = list(range(SCRATCH + 1, num_pages))  # a heap: low pages first keeps touched memory small
        heapify(self._free)

    @property
    def num_free(self) -> int:
        """Pages that nobody holds."""
        return len(self._free)

    def share(self, pages: Iterable[int]) -> None:
        """One more holder for each page."""
        for page in pages:
            self._holders[page] += 1

    def release(self, pages: Iterable[int]) -> None:
        """One holder fewer for each page."""
        for page in pages:
            self._holders[page] -= 1
            if self._holders[page] == 0:
                heappush(self._free, page)

    def reserve(self, claims: Seq[tuple[list[int], int, int]]) -> None:
        """Make slots first .. end - 1 of each claim (pages, first, end) writable and its holder's own.

        The page lists are extended and shared pages replaced by copies; EngineError, and no change, where the
        pages do not suffice.
        """
        needed = self._needed(claims)
        if needed > self.num_free:
            raise EngineError(self._too_small(needed))
        for pages, first, end in claims:
            for index in range(first // self.rows, -(-end // self.rows)):
                self._own(pages, index)

    def branch(self, pages: list[int], first: int, end: int) -> list[int]:
        """A table equal to `pages` before slot `first`, with pages of its own from there to `end`.

        Give them back with `release`; EngineError, and no change, where the pages do not suffice.
        """
        shared, slots = divmod(first, self.rows)
        count = -(-end // self.rows) - shared
        if count > self.num_free:
            raise EngineError(self._too_small(count))
        own = [self._take() for _ in range(count)]
        if slots:
            self._memory.copy(pages[shared], own[0], slots)
        self.share(pages[:shared])
        return [*pages[:shared], *own]

    def _needed(self, claims: Seq[tuple[list[int], int, int]]) -> int:
        fresh = sum(max(0, -(-end // self.rows) - len(pages)) for pages, _, end in claims)
        written = Counter(
            page
            for pages, first, end in claims
            for page in pages[first // self.rows : -(-end // self.rows)]
            if self._holders[page] > 1
        )
        return fresh + sum(min(count, int(self._holders[page]) - 1) for page, count in written.items())

    def _own(self, pages: list[int], index: int) -> None:
        if index >= len(pages):
            pages.append(self._take())
        elif self._holders[pages[index]] > 1:
            copy = self._take()
            self._memory.copy(pages[index], copy, self.rows)
            self.release([pages[index]])
            pages[index] = copy

    def _take(self) -> int:
        page = heappop(self._free)
        self._holders[page] = 1
        return page

    def _too_small(self, needed: int) -> str:
        each, total = self._memory.page_bytes, len(self._holders)
        held = total - self.num_free
        return (
            f"the cache is out of pages: {needed} more are needed and {self.num_free} of {total} are free; "
            f"run fewer or shorter texts at once, or raise cache_bytes from {total * each} "
            f"to at least {(held + needed) * each}"
        )


def make_pool(ports: Seq[Any], cache_bytes: int) -> tuple[PagePool, dict[str, Any]]:
    """The pool and the tensors to bind, by input name, for a compiled model's cache inputs.

    A page is `rows` slots of every layer; raises BadParameter where cache_bytes holds fewer than two.
    """
    import openvino as ov

    shapes = [tuple(dim.get_length() for dim in list(port.get_partial_shape())[1:]) for port in ports]
    kind = ports[0].get_element_type()
    page_bytes = sum(int(np.prod(shape)) for shape in shapes) * kind.size
    num_pages = cache_bytes // page_bytes
    if num_pages <= SCRATCH + 1:
        raise BadParameter(
            "cache_bytes", f"{cache_bytes} holds no page; at least {(SCRATCH + 2) * page_bytes} are needed"
        )
    memory = PageMemory(shapes, kind.size, num_pages)
    tensors = {
        port.get_any_name(): ov.Tensor(tensor, ov.Shape((num_pages, *shape)), kind)
        for port, shape, tensor in zip(ports, shapes, memory.tensors, strict=True)
    }
    return PagePool(num_pages, shapes[0][1], memory), tensors
