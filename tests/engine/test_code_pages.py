"""Pages that a file can give back are dropped; changed ones and writable ones never."""

import ctypes
import mmap
from pathlib import Path

import numpy as np
import pytest

from truedraw.engine import code_pages
from truedraw.engine.code_pages import drop_code
from truedraw.engine.mappings import own_mappings

PAGES = 8
linux = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")


@pytest.fixture
def mapped(tmp_path):
    """A private mapping of a file, all of it touched, and its address."""
    path = tmp_path / "library.so"
    path.write_bytes(b"\x07" * (PAGES * mmap.PAGESIZE))
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    assert bytes(memory).count(7) == len(memory)
    return np.frombuffer(memory, np.uint8)


@pytest.fixture
def loaded(mapped, monkeypatch):
    """The same, as a segment of a library."""
    own = range(mapped.ctypes.data, mapped.ctypes.data + mapped.nbytes)
    monkeypatch.setattr(code_pages, "constant_segments", lambda: [range(0), own])
    return mapped


def _here(array):
    start = array.ctypes.data
    return next(mapping for mapping in own_mappings() if mapping.start <= start < mapping.end)


def _make_read_only(array):
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    assert protect(array.ctypes.data, array.nbytes, mmap.PROT_READ) == 0


@linux
def test_what_is_no_segment_of_a_library_stays(mapped):
    """As the file of a library that is being loaded: where its data will be it is not yet writable."""
    _make_read_only(mapped)
    before = _here(mapped).resident_bytes
    drop_code()
    assert _here(mapped).resident_bytes == before


@linux
def test_a_mapping_that_is_more_than_a_segment_stays(mapped, monkeypatch):
    _make_read_only(mapped)
    start, end = mapped.ctypes.data, mapped.ctypes.data + mapped.nbytes
    parts = [range(start, end - mmap.PAGESIZE), range(start + mmap.PAGESIZE, end)]
    monkeypatch.setattr(code_pages, "constant_segments", lambda: parts)
    drop_code()
    assert _here(mapped).resident_bytes > 0


@linux
def test_unchanged_pages_go_and_come_back(loaded, mapped):
    _make_read_only(mapped)
    before = _here(mapped)
    assert before.resident_bytes >= mapped.nbytes
    assert drop_code() >= mapped.nbytes
    assert _here(mapped).resident_bytes == 0
    assert (mapped == 7).all()


@linux
def test_a_changed_page_stays_even_where_it_is_read_only_now(loaded, mapped):
    mapped[mmap.PAGESIZE] = 9
    _make_read_only(mapped)
    drop_code()
    assert mapped[mmap.PAGESIZE] == 9


@linux
def test_writable_memory_stays(loaded, mapped):
    mapped[0] = 9
    drop_code()
    assert mapped[0] == 9
    assert _here(mapped).resident_bytes > 0


def test_nothing_happens_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.setattr(code_pages, "own_mappings", list)
    assert drop_code() == 0
