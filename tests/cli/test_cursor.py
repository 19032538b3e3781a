"""The cursor is shown again whoever stands in for stderr."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from truedraw.cli.cursor import SHOW, restore_when_ended, show_cursor


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


def settings_of(end: int, wanted: bool, before: list) -> bool:
    """Whether a terminal's settings are as `before`, once that is what is wanted or a minute has gone."""
    termios = pytest.importorskip("termios")
    last = time.monotonic() + 60
    while (found := termios.tcgetattr(end) == before) != wanted and time.monotonic() < last:
        time.sleep(0.01)
    return found


@contextmanager
def typed_in(program: str):
    """A program whose lines are typed in a terminal, and the other end of that."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stdout=theirs, env=environment) as running:
        try:
            yield running, ours
        finally:
            running.kill()
    os.close(theirs)
    os.close(ours)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_a_terminal_shows_what_is_typed_again_when_the_program_is_ended() -> None:
    termios = pytest.importorskip("termios")
    pytest.importorskip("readline")
    with typed_in("input(); from truedraw.cli.chat import typed; next(typed())") as (program, terminal):
        before = termios.tcgetattr(terminal)
        os.write(terminal, b"\n")
        assert not settings_of(terminal, False, before)
        program.terminate()
        assert program.wait(60) == -signal.SIGTERM
        assert settings_of(terminal, True, before)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_a_signal_that_comes_before_the_wait_for_a_key_ends_the_program() -> None:
    pytest.importorskip("termios")
    waiting = """
import os, signal, sys
from truedraw.cli.cursor import restore_when_ended
restore_when_ended(sys.stdin)
told = signal.set_wakeup_fd(-1)
signal.set_wakeup_fd(told)
os.write(told, bytes([signal.SIGTERM]))  # as such a signal does, which breaks off nothing
os.read(0, 1)
"""
    with typed_in(waiting) as (program, _):
        assert program.wait(60) == -signal.SIGTERM


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_the_handler_of_somebody_else_stays() -> None:
    pytest.importorskip("termios")
    ours, theirs = os.openpty()
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, handler := lambda *_: None)
        restore_when_ended(StandIn(theirs))
        assert signal.getsignal(signal.SIGTERM) is handler
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for _ in range(2):
            restore_when_ended(StandIn(theirs))
            assert signal.getsignal(signal.SIGTERM).func.__name__ == "_end"
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.set_wakeup_fd(-1)
        os.close(theirs)
        os.close(ours)
