"""A conversation in a terminal."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time

import pytest

pytest.importorskip("readline")
pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
PASTED = b"\x1b[200~one\ntwo\nthree\x1b[201~\n"
PROMPT = b"> "
LONGEST = 120  # seconds


@pytest.fixture
def terminal():
    """terminal(flags) -> the other end of one in which `truedraw chat` runs, and its process."""
    ours, theirs = os.openpty()
    running = []

    def begun(*flags, kind="xterm"):
        command, environment = [sys.executable, "-m", "truedraw", "chat", *flags], {**os.environ, "TERM": kind}
        running.append(subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment))
        os.close(theirs)
        return ours, running[0]

    yield begun
    for each in running:
        each.kill()
        each.wait()
    os.close(ours)


def shown(end: int) -> bytes:
    """Until the next line is asked for."""
    found, last = b"", time.monotonic() + LONGEST
    while PROMPT not in found and time.monotonic() < last:
        if select.select([end], [], [], 0.1)[0]:
            found += os.read(end, 1 << 16)
    return found


def turns(end: int) -> list[dict]:
    """What is answered until the next line is asked for."""
    found = shown(end)
    return [json.loads(line) for line in found.decode().splitlines() if line.startswith("{")]


def test_pasted_lines_are_one_turn(terminal) -> None:
    end, chat = terminal("--max-tokens", "2", "--seed", "1", "--json", "--no-stats")
    assert turns(end) == []
    os.write(end, PASTED)
    (pasted,) = turns(end)
    os.write(end, b"/reset\n")
    turns(end)
    os.write(end, b"one\n")
    (typed,) = turns(end)
    assert pasted["prompt_tokens"] > typed["prompt_tokens"] + 3
    os.write(end, b"\x04")
    assert chat.wait(LONGEST) == 0


def test_a_terminal_without_control_codes_is_sent_none(terminal) -> None:
    end, chat = terminal("--no-stats", kind="dumb")
    assert b"\x1b" not in shown(end)
    os.write(end, b"\x04")
    assert chat.wait(LONGEST) == 0
