"""Where the libraries lie that this process has loaded, as the dynamic linker tells it."""

from __future__ import annotations

import ctypes
import mmap
import sys

LOADED, WRITABLE = 1, 2  # PT_LOAD, PF_W


class Segment(ctypes.Structure):
    """Elf64_Phdr."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("physical", ctypes.c_uint64),
        ("file_bytes", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("alignment", ctypes.c_uint64),
    )


class Library(ctypes.Structure):
    """The beginning of dl_phdr_info."""

    _fields_ = (
        ("base", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("segments", ctypes.POINTER(Segment)),
        ("count", ctypes.c_uint16),
    )


VISITOR = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Library), ctypes.c_size_t, ctypes.c_void_p)


def constant_segments() -> list[range]:
    """The addresses, in whole pages, of every segment that its library never writes to; none where nobody tells.

    A library that another thread is just loading is not among them: the linker names it once its segments are mapped.
    Until then its whole file may stand read-only where its data will be.
    """
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        return []
    found: list[range] = []

    def visit(library: ctypes._Pointer[Library], _size: int, _nothing: object) -> int:
        seen = library.contents
        found.extend(_pages(seen.base, seen.segments[each]) for each in range(seen.count))
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(VISITOR(visit), None)
    return [pages for pages in found if pages]


def _pages(base: int, segment: Segment) -> range:
    """Empty for what is not loaded, or can be written to."""
    if segment.kind != LOADED or segment.flags & WRITABLE:
        return range(0)
    first, last = base + segment.address, base + segment.address + segment.file_bytes
    return range(first // mmap.PAGESIZE * mmap.PAGESIZE, -(-last // mmap.PAGESIZE) * mmap.PAGESIZE)
