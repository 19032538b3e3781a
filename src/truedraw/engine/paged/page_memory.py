"""The memory behind the pages: it costs nothing until it is written."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from copy import copy
from itertools import pairwise
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.paged.reservation import reserved


class Memory(Protocol):
    """What a pool of pages asks of it."""

    page_bytes: int

    def first(self, count: int) -> Self:
        """The same pages, of which only the first `count` tensors are copied."""
        ...

    def copy(self, source: int, target: int, slots: int) -> None:
        """Copy the first slots of one page in every tensor, at least."""
        ...


class Tensors:
    """Keys and values of all pages, one tensor a layer and kind, in one reservation of address space.

    `shapes` are those of one page in each tensor, [heads, slots, head_dim]; the slots of a head lie one behind the
    other. Physical memory is used when a page is first written, in small pages of the system's: a large one would
    hold 2 MiB for a few KiB of each tensor.
    """

    def __init__(self, shapes: Seq[tuple[int, ...]], item_bytes: int, num_pages: int) -> None:
        sizes = [int(np.prod(shape)) * item_bytes for shape in shapes]
        self.page_bytes = sum(sizes)
        whole = reserved(self.page_bytes * num_pages, large=False)
        starts = (np.cumsum([0, *sizes]) * num_pages).tolist()
        self.tensors: list[NDArray[np.uint8]] = [
            whole[start:end].reshape(num_pages, heads, slots, head_dim * item_bytes)
            for (start, end), (heads, slots, head_dim) in zip(pairwise(starts), shapes, strict=True)
        ]

    def first(self, count: int) -> Self:
        """See Memory."""
        some = copy(self)
        some.tensors = self.tensors[:count]
        return some

    def copy(self, source: int, target: int, slots: int) -> None:
        """See Memory."""
        for tensor in self.tensors:
            tensor[target, :, :slots] = tensor[source, :, :slots]


class WholePages:
    """The same page by page: all that a page has, of one tensor behind the other, is one piece, whatever its order.

    So it may lie in large pages of the system's. A pass over many texts reads everything that is written once, and
    finding a small page that was not read before takes longer than reading it.
    """

    def __init__(self, shapes: Seq[tuple[int, ...]], item_bytes: int, num_pages: int) -> None:
        self._ends = np.cumsum([0, *(int(np.prod(shape)) * item_bytes for shape in shapes)]).tolist()
        self.page_bytes = self._ends[-1]
        self.pages = reserved(self.page_bytes * num_pages, large=True).reshape(num_pages, self.page_bytes)

    def first(self, count: int) -> Self:
        """See Memory."""
        some = copy(self)
        some._ends = self._ends[: count + 1]
        return some

    def copy(self, source: int, target: int, slots: int) -> None:
        """See Memory; all slots."""
        end = self._ends[-1]
        self.pages[target, :end] = self.pages[source, :end]
