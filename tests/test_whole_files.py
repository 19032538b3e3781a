"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from errno import EACCES, EFBIG, ENOENT, ENOSPC
from pathlib import Path
from stat import S_IMODE
from time import time

import pytest

from truedraw.errors import BadFile
from truedraw.whole_files import STALE_SECONDS, check_folder, replacing, write_text

unix = pytest.mark.skipif(os.name == "nt", reason="needs pipes and links")


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


@pytest.mark.parametrize(("number", "hint"), [
    (ENOSPC, "free some space or give"), (EFBIG, "raise the limit"), (ENOENT, "give a file in a folder that exists"),
    (EACCES, "give another file"),
])  # fmt: skip
def test_what_to_do_fits_the_error(tmp_path, number, hint) -> None:
    if number == EFBIG:
        with pytest.raises(BadFile, match=f"; {hint}"), replacing(tmp_path / "a", then="make room, and go on"):
            raise OSError(number, os.strerror(number))
    with pytest.raises(BadFile, match=f"; {hint}"), replacing(tmp_path / "a"):
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize("name", ["x" * 300, "there is/no such folder", ".", "/"])
def test_names_that_cannot_be_written(tmp_path, monkeypatch, name) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadFile, match=r"cannot be written: .*; give a"), replacing(Path(name)) as fresh:
        fresh.write_text("text")


@unix
def test_what_is_no_file_is_nobodys_to_replace(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull), tmp_path):
        with pytest.raises(BadFile, match="it is no regular file"), replacing(path):
            raise AssertionError
        with pytest.raises(BadFile, match=r"^--html it .*it is no regular file"):
            check_folder(path, "--html it")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "字" * 85])
def test_the_longest_names(tmp_path, name) -> None:
    file = tmp_path / name
    old = tmp_path / f"{name.encode()[:200].decode(errors='ignore')}.1-1.truedraw.part"
    old.write_text("killed")
    os.utime(old, (0, 0))
    check_folder(file, name)
    with replacing(file) as fresh:
        fresh.write_text("new")
    assert names(tmp_path) == [name]


@unix
@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there whatever the locale")
@pytest.mark.parametrize("name", ["oü.jsonl", "ü" * 120])
def test_names_in_a_locale_that_does_not_know_their_characters(tmp_path, name) -> None:
    code = "import sys; from pathlib import Path; from truedraw.whole_files import replacing\n"
    code += "with replacing(Path(sys.argv[1])) as fresh: fresh.write_text('new')"
    old = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, name], cwd=tmp_path, env={**os.environ, **old}, check=True)
    assert names(tmp_path) == [name]


@unix
def test_a_link_stays_one_and_its_file_keeps_its_mode(tmp_path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "a", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    with replacing(link) as fresh:
        fresh.write_text("new")
    assert link.is_symlink()
    assert (file.read_text(), S_IMODE(file.stat().st_mode)) == ("new", 0o640)


def test_a_link_is_looked_at_where_it_leads(tmp_path) -> None:
    link, circle = tmp_path / "link", tmp_path / "circle"
    link.symlink_to(tmp_path / "nowhere" / "a.json")
    circle.symlink_to(circle)
    with pytest.raises(BadFile, match="link cannot be written: give a file in a folder that exists"):
        check_folder(link, str(link))
    check_folder(circle, str(circle))
    write_text(circle, "whole")
    assert circle.read_text() == "whole"


def test_a_file_that_may_only_be_read_is_replaced(tmp_path) -> None:
    """What takes its place can be written until then, by its owner alone, and has its mode at the end."""
    file = tmp_path / "a"
    file.write_text("before")
    file.chmod(0o440)
    with replacing(file) as fresh:
        assert S_IMODE(fresh.stat().st_mode) == 0o640
        fresh.write_text("after")
    assert (S_IMODE(file.stat().st_mode), file.read_text()) == (0o440, "after")


def test_what_a_killed_process_left_is_swept_away_later(tmp_path) -> None:
    old = "a.1-1.truedraw.part", "b.3-3.truedraw.part", "a.part", "a.1.part", "a.2026-11.part"
    for name in (*old, "a.2-2.truedraw.part"):
        (tmp_path / name).write_text("half")
    for name in old:
        os.utime(tmp_path / name, (time() - 2 * STALE_SECONDS,) * 2)
    with replacing(tmp_path / "a") as fresh:
        fresh.write_text("whole")
    assert names(tmp_path) == [
        "a",
        "a.1.part",
        "a.2-2.truedraw.part",
        "a.2026-11.part",
        "a.part",
        "b.3-3.truedraw.part",
    ]


def test_many_threads_write_one_file_one_after_the_other(tmp_path) -> None:
    def write(number: int) -> None:
        with replacing(tmp_path / "a") as fresh:
            fresh.write_text(chr(100 + number) * 10_000)

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(write, range(200)))) == 200
    assert len(set((tmp_path / "a").read_text())) == 1
    assert names(tmp_path) == ["a"]


def test_two_processes_do_not_write_one_file(tmp_path, monkeypatch) -> None:
    with replacing(tmp_path / "a") as first:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with replacing(tmp_path / "a") as second:
            assert first != second
            first.write_text("first")
            second.write_text("second")
        monkeypatch.undo()
    assert (tmp_path / "a").read_text() == "first"


def test_half_a_surrogate_pair_in_a_text_loses_nothing_else(tmp_path) -> None:
    """As a model's name has where its file's is no UTF-8."""
    write_text(tmp_path / "page.html", "a \udcff b")
    assert (tmp_path / "page.html").read_bytes() == b"a ? b"
