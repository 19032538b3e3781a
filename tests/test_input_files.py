"""What may be read as texts or prompts."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from truedraw.errors import BadFile
from truedraw.input_files import check_stdin, opened, readable, size_of

unix = pytest.mark.skipif(os.name == "nt", reason="needs devices and pipes")


def test_a_file(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"text\r\n")
    assert size_of(tmp_path / "a") == 6
    with opened(tmp_path / "a") as file:
        assert file.read() == b"text\r\n"


@unix
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_an_end(device) -> None:
    for ask in (opened, size_of):
        with pytest.raises(BadFile, match=r"^--input it cannot be read: it is a device; give a file, or a pipe$"):
            ask(Path(device), "--input it")


def test_where_devices_have_no_numbers(monkeypatch) -> None:
    """As on Windows, where what is no console is NUL."""
    with monkeypatch.context() as windows:
        windows.setattr("os.fstat", lambda _: SimpleNamespace(st_mode=stat.S_IFCHR))
        check_stdin()


@unix
def test_what_comes_to_an_end(tmp_path) -> None:
    ours, theirs = os.openpty()
    with opened(Path(os.ttyname(theirs))) as terminal:
        os.write(ours, b"typed\n\x04")
        assert terminal.read() == b"typed\n"
    read, write = os.pipe()
    os.write(write, b"piped")
    os.close(write)
    with opened(Path(f"/dev/fd/{read}")) as pipe:
        assert pipe.read() == b"piped"
    with opened(Path(os.devnull)) as nothing:
        assert nothing.read() == b""
    for each in (ours, theirs, read):
        os.close(each)


def test_what_fails_while_it_is_read() -> None:
    with (
        pytest.raises(BadFile, match=r"^it cannot be read: Input/output error; give a file$"),
        readable("it", "give a file"),
    ):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_what_is_not_there(tmp_path) -> None:
    with pytest.raises(BadFile, match=r"a cannot be read: No such file or directory; give a file of JSON lines$"):
        opened(tmp_path / "a", hint="give a file of JSON lines")
    with pytest.raises(BadFile, match=r"cannot be read: .*; give another file$"):
        opened(tmp_path)
