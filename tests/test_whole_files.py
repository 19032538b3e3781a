"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from errno import ENOSPC

import pytest

from truedraw.errors import BadFile
from truedraw.whole_files import replacing


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_it_takes_its_place_at_the_end(tmp_path) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    with replacing(file) as fresh:
        fresh.write_text("new")
        assert file.read_text() == "old"
        assert fresh.parent == tmp_path
    assert file.read_text() == "new"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, BadFile("of another file")])
def test_nothing_of_it_stays_where_something_is_raised(tmp_path, error) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    with pytest.raises(error if isinstance(error, type) else type(error)), replacing(file) as fresh:  # noqa: PT012
        fresh.write_text("half")
        raise error
    assert file.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path) -> None:
    file = tmp_path / "a"
    with (  # noqa: PT012 - what is written before the disk is full belongs to it
        pytest.raises(BadFile, match=r"^--html .*a cannot be written: No space.*; make room$"),
        replacing(file, f"--html {file}", "make room") as fresh,
    ):
        fresh.write_text("half")
        raise OSError(ENOSPC, os.strerror(ENOSPC))
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 300, "there is/no such folder", "."])
def test_names_that_cannot_be_written(tmp_path, name) -> None:
    with pytest.raises(BadFile, match=r"cannot be written: .*; give another file"), replacing(tmp_path / name) as fresh:
        fresh.write_text("text")


def test_two_processes_do_not_write_one_file(tmp_path, monkeypatch) -> None:
    with replacing(tmp_path / "a") as first:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with replacing(tmp_path / "a") as second:
            assert first != second
            first.write_text("first")
            second.write_text("second")
        monkeypatch.undo()
    assert (tmp_path / "a").read_text() == "first"
