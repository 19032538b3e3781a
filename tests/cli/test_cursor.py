"""The cursor is shown again whoever stands in for stderr."""

from __future__ import annotations

import io
import os

import pytest

from truedraw.cli.cursor import SHOW, show_cursor


class StandIn(io.TextIOBase):
    """As rich before 15 puts in the place of stderr while a bar is drawn: no terminal by its own words."""

    def __init__(self, file: int) -> None:
        self.file = file

    def fileno(self) -> int:
        return self.file


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_of_a_terminal_behind_a_bar(monkeypatch) -> None:
    ours, theirs = os.openpty()
    monkeypatch.setattr("sys.stderr", StandIn(theirs))
    monkeypatch.setenv("TERM", "xterm")
    show_cursor()
    os.write(theirs, b"end")
    seen = b""
    while not seen.endswith(b"end"):
        seen += os.read(ours, 64)
    assert seen == SHOW + b"end"
    os.close(theirs)
    os.close(ours)


def test_of_a_file_nothing_is_written(monkeypatch, tmp_path) -> None:
    with (tmp_path / "err").open("wb") as file:
        monkeypatch.setattr("sys.stderr", StandIn(file.fileno()))
        show_cursor()
    assert not (tmp_path / "err").read_bytes()
