"""Code that has done its work is let go of: two compilers run while a model is loaded, and never again.

A library's unchanged pages are copies of its file. Dropped, they count as this process's memory no longer, and what
is called again comes back from the system's file cache, sixteen pages at a fault.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable

from truedraw.engine.mappings import Mapping, own_mappings
from truedraw.engine.segments import constant_segments


def drop_code() -> int:
    """Drop the unchanged pages of all libraries from this process; bytes dropped, 0 where the system cannot."""
    segments = constant_segments()
    idle = [mapping for mapping in own_mappings() if _is_code(mapping) and _lies_in(mapping, segments)]
    if not idle or not hasattr(mmap, "MADV_DONTNEED"):
        return 0
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    dropped = [mapping.resident_bytes for mapping in idle if _advised(advise, mapping)]
    return sum(dropped)


def trim_heap() -> None:
    """Give back what allocations of the past have left unused; nothing where the C library has no way to."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def _is_code(mapping: Mapping) -> bool:
    """Read-only and never changed: a page that the loader or a debugger wrote to would be lost."""
    readable = mapping.is_file and "w" not in mapping.permissions
    return readable and mapping.resident_bytes > 0 and mapping.anonymous_bytes == 0


def _lies_in(mapping: Mapping, segments: list[range]) -> bool:
    return any(pages.start <= mapping.start and mapping.end <= pages.stop for pages in segments)


def _advised(advise: Callable[[int, int, int], int], mapping: Mapping) -> bool:
    return bool(advise(mapping.start, mapping.num_bytes, mmap.MADV_DONTNEED) == 0)
