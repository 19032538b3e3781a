"""Address space whose memory is used as it is written."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadParameter
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import shown

NOT_DUMPED = "MADV_DONTDUMP"  # by who reads what a crash has left; so it stays apart from all memory beside it, too


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


def reserved(num_bytes: int, *, large: bool) -> NDArray[np.uint8]:
    """So many zeros, in large pages of the system's where it has them, or in small ones.

    Raises BadParameter where the system does not give them, with the order of what it gives.
    """
    try:
        return np.frombuffer(_mapped(num_bytes, large), np.uint8)
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


def _mapped(num_bytes: int, large: bool = False) -> mmap.mmap:
    """Anonymous zeroed memory, which mappings.py knows by what it is told of it."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return mmap.mmap(-1, num_bytes)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(-1, num_bytes, flags=flags)
    for name in ("MADV_HUGEPAGE" if large else "MADV_NOHUGEPAGE", NOT_DUMPED):
        if hasattr(mmap, name):
            with suppress(OSError):  # of a kernel without large pages
                memory.madvise(getattr(mmap, name))
    return memory
