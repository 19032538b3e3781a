from __future__ import annotations

import errno
import os
import sys
from types import SimpleNamespace

import pytest

from index_files import EMPTY, arrays, index_of, means
from truedraw.draft.index.writing import add
from truedraw.errors import BadFile
from truedraw.file_locks import FAR, is_free, may_replace_open, wait_for
from truedraw.generate.offline.locking import opened


def bytes_locked():
    """msvcrt as far as it locks: a byte of a file, for whoever opened that."""
    held = {}

    def locking(file, how, count):
        place = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        assert (how, count, place[1]) == (2, 1, FAR)
        if held.setdefault(place, file) != file:
            raise PermissionError(13, "Permission denied")

    return SimpleNamespace(LK_NBLCK=2, locking=locking)


@pytest.mark.parametrize("kind", ["files", "bytes"])
def test_one_at_a_time(tmp_path, monkeypatch, kind):
    if kind == "files":
        pytest.importorskip("fcntl")
    else:
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setitem(sys.modules, "msvcrt", bytes_locked())
    (tmp_path / "a").write_bytes(b"abc")
    with (tmp_path / "a").open("r+b") as one, (tmp_path / "a").open("r+b") as other:
        one.read(1)
        wait_for(one.fileno())
        assert is_free(one.fileno())
        assert not is_free(other.fileno())
        assert (one.read(), other.read()) == (b"bc", b"abc")
    assert may_replace_open() == (kind == "files")


def test_where_there_are_no_locks(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with (tmp_path / "a").open("wb") as one, (tmp_path / "a").open("r+b") as other:
        wait_for(one.fileno())
        assert is_free(other.fileno())


def test_a_disk_without_locks_is_told_as_such(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    index_of(tmp_path / "index", [[1, 2]])
    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(BadFile, match=r"cannot be written: No locks available; give a file on another disk"):
        opened(tmp_path / "results.jsonl")
    with pytest.raises(BadFile, match="cannot be written: No locks available; nothing was changed"):
        add(tmp_path / "index", arrays([[3]]), EMPTY.fingerprint, means(tmp_path / "index"))
