"""The memory behind the pages: it costs nothing until it is written."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence as Seq
from contextlib import suppress
from copy import copy
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadParameter
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import shown


class PageMemory:
    """Keys and values of all pages, one tensor a layer and kind, in one reservation of address space.

    `shapes` are those of one page in each tensor, [heads, slots, head_dim]. Physical memory is used when a page is
    first written. whole_pages: the slots of a page do not lie one behind the other.
    """

    def __init__(
        self, shapes: Seq[tuple[int, ...]], item_bytes: int, num_pages: int, *, whole_pages: bool = False
    ) -> None:
        self._whole_pages = whole_pages
        sizes = [int(np.prod(shape)) * item_bytes for shape in shapes]
        self.page_bytes = sum(sizes)
        self.whole = whole = np.frombuffer(_reserve(self.page_bytes * num_pages), np.uint8)
        starts = (np.cumsum([0, *sizes]) * num_pages).tolist()
        self.tensors: list[NDArray[np.uint8]] = [
            whole[start:end].reshape(num_pages, heads, slots, head_dim * item_bytes)
            for (start, end), (heads, slots, head_dim) in zip(pairwise(starts), shapes, strict=True)
        ]

    def first(self, count: int) -> PageMemory:
        """The same pages, of which only the first `count` tensors are copied."""
        some = copy(self)
        some.tensors = self.tensors[:count]
        return some

    def copy(self, source: int, target: int, slots: int) -> None:
        """Copy the first slots of one page in every tensor; all of them where slots do not lie one behind the other."""
        for tensor in self.tensors:
            if self._whole_pages:
                tensor[target] = tensor[source]
            else:
                tensor[target, :, :slots] = tensor[source, :, :slots]


def check_bytes(num_bytes: int) -> None:
    """Raises BadParameter for more than this machine has, where that is known: it would be killed when it is used."""
    Wholes(0, "bytes").check("cache_bytes", num_bytes)
    there = _machine_bytes()
    if there is not None and num_bytes > there:
        raise BadParameter(
            "cache_bytes", f"got {shown(num_bytes)} bytes, but this machine has {there} of memory; give at most that"
        )


def _machine_bytes() -> int | None:
    """Physical memory; None where nobody knows."""
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _reserve(num_bytes: int) -> mmap.mmap:
    """As `_mapped`; raises BadParameter where the system gives no such reservation, with the order of what it gives."""
    try:
        return _mapped(num_bytes)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadParameter(
            "cache_bytes", f"{num_bytes} bytes cannot be set aside ({reason}); give at most {_possible(num_bytes)}"
        ) from error


def _possible(num_bytes: int) -> int:
    """The largest that can be had of what halving the bytes leads to."""
    while num_bytes := num_bytes // 2:
        with suppress(OSError, OverflowError):
            _mapped(num_bytes).close()
            break
    return num_bytes


def _mapped(num_bytes: int) -> mmap.mmap:
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
