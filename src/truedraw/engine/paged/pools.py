"""Pools of pages for a cache of so many bytes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Seq
from typing import TypeVar

import numpy as np

from truedraw.engine.paged.page_memory import Memory
from truedraw.engine.paged.pages import SCRATCH, PagePool
from truedraw.engine.paged.reservation import check_bytes
from truedraw.errors import BadParameter
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import shown

Held = TypeVar("Held", bound=Memory)
CACHE_BYTES = 2 << 30  # address space; memory is used as texts grow
PREFIX_CACHE_BYTES = 256 << 20  # of these, at most, for texts that are closed: some ten thousand tokens of 135M


def pool_of(
    kind: Callable[[Seq[tuple[int, ...]], int, int], Held],
    shapes: Seq[tuple[int, ...]],
    item_bytes: int,
    cache_bytes: int,
    prefix_cache_bytes: int,
) -> tuple[PagePool, Held]:
    """A pool, and its memory of a kind, of tensors whose pages have these shapes [heads, slots, head_dim].

    A page is `slots` tokens of every tensor; raises BadParameter where cache_bytes holds fewer than two or is more
    than the machine has, and where prefix_cache_bytes is negative or more than cache_bytes.
    """
    page_bytes = sum(int(np.prod(shape)) for shape in shapes) * item_bytes
    check_bytes(cache_bytes)
    num_pages = cache_bytes // page_bytes
    if num_pages <= SCRATCH + 1:
        raise BadParameter(
            "cache_bytes", f"{cache_bytes} holds no page; at least {(SCRATCH + 2) * page_bytes} are needed"
        )
    Wholes(0, "bytes; 0 switches it off").check("prefix_cache_bytes", prefix_cache_bytes)
    _check_share(prefix_cache_bytes, cache_bytes)
    memory = kind(shapes, item_bytes, num_pages)
    max_idle = min(prefix_cache_bytes // page_bytes, num_pages)
    return PagePool(num_pages, shapes[0][1], memory, max_idle), memory


def _check_share(prefix_cache_bytes: int, cache_bytes: int) -> None:
    """Raises BadParameter for a part that is more than the whole, unless it is the default of a smaller cache."""
    if prefix_cache_bytes > cache_bytes and prefix_cache_bytes != PREFIX_CACHE_BYTES:
        raise BadParameter(
            "prefix_cache_bytes",
            f"got {shown(prefix_cache_bytes)}, but it is a part of cache_bytes, {cache_bytes}; give at most that",
        )
