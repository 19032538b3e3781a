"""Where libraries lie: what they never write to is found, what they write to is not."""

import ctypes
import mmap
import sys

import pytest

from truedraw.engine import segments
from truedraw.engine.mappings import own_mappings
from truedraw.engine.segments import LOADED, WRITABLE, Segment, constant_segments

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def address_of(symbol):
    return ctypes.cast(symbol, ctypes.c_void_p).value


@linux
def test_code_is_found_and_variables_are_not():
    libc = ctypes.CDLL(None)
    code, variable = address_of(libc.qsort), ctypes.addressof(ctypes.c_void_p.in_dll(libc, "stdin"))
    found = constant_segments()
    assert any(code in pages for pages in found)
    assert not any(variable in pages for pages in found)


@linux
def test_no_segment_is_writable_now():
    writable = [range(each.start, each.end) for each in own_mappings() if "w" in each.permissions]
    for pages in constant_segments():
        assert not any(pages.start < each.stop and each.start < pages.stop for each in writable)


@pytest.mark.parametrize(("kind", "flags", "pages"), [
    (LOADED, 4, range(10, 12)), (LOADED, 5, range(10, 12)), (LOADED, 4 | WRITABLE, range(0)), (2, 4, range(0)),
])  # fmt: skip
def test_a_segment_is_whole_pages(kind, flags, pages):
    size = mmap.PAGESIZE
    segment = Segment(kind=kind, flags=flags, address=3 * size + 5, file_bytes=size + 1)
    assert segments._pages(7 * size, segment) == range(pages.start * size, pages.stop * size)


def test_nothing_is_told_on_other_systems(monkeypatch):
    monkeypatch.setattr(segments.sys, "platform", "win32")
    assert constant_segments() == []
