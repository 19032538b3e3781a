"""Results that come to a terminal, and terminals that go away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
FLAGS = ("-m", "tabular", "--seed", "1", "--max-tokens", "3")
XTERM = {**os.environ, "TERM": "xterm"}


def on_terminal(*arguments: str) -> str:
    """What is seen of stdout and stderr."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "truedraw", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=XTERM):
        os.close(theirs)
        seen = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return seen.decode()


def _read(end: int) -> bytes:
    try:
        return os.read(end, 1 << 16)
    except OSError:  # of Linux: nobody writes any more
        return b""


def test_no_bar_stands_in_their_lines(tmp_path) -> None:
    lines = tmp_path / "prompts.jsonl"
    lines.write_text("".join(json.dumps({"prompt": "the cat", "id": n}) + "\n" for n in range(3)))
    seen = on_terminal("generate", "--input", str(lines), *FLAGS)
    assert "\x1b" not in seen
    records = [json.loads(line) for line in seen.splitlines() if "prompt_token" in line]
    assert sorted(record["id"] for record in records) == [0, 1, 2]


def test_there_is_a_bar_where_they_go_to_a_file(tmp_path) -> None:
    lines = tmp_path / "prompts.jsonl"
    lines.write_text(json.dumps({"prompt": "the cat"}) + "\n")
    assert "1/1" in on_terminal("generate", "--input", str(lines), *FLAGS, "-o", str(tmp_path / "out.jsonl"))


def test_a_run_that_outlives_its_terminal_ends_well(tmp_path) -> None:
    output = tmp_path / "out.jsonl"
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "truedraw", "generate", "--input", "-", *FLAGS, "-o", str(output)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=XTERM) as run:
        os.close(theirs)
        seen = b""
        while b"tokens/s" not in seen:
            seen += os.read(ours, 1 << 16)
        os.close(ours)
        run.communicate(json.dumps({"prompt": "the cat"}).encode())
    assert run.returncode == 0
    assert len(output.read_text().splitlines()) == 1


def test_results_that_come_to_a_closed_terminal_are_an_error(tmp_path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "truedraw", "generate", "--input", "-", *FLAGS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=subprocess.PIPE, env=XTERM) as run:
        os.close(theirs)
        run.stdin.write(b"\n" * 200_000)  # more than a pipe holds: it is being read
        run.stdin.flush()
        os.close(ours)
        _, said = run.communicate(json.dumps({"prompt": "the cat"}).encode())
    assert run.returncode == 2
    assert said.splitlines()[-1] == b"truedraw: error: the output cannot be written: Input/output error"
    assert b"Traceback" not in said


def test_a_run_that_is_ended_in_the_midst_of_its_bar_shows_the_cursor_again(tmp_path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "truedraw", "generate", "--input", "-", *FLAGS, "-o", str(tmp_path / "out.jsonl")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=XTERM) as run:
        os.close(theirs)
        seen = b""
        while b"tokens/s" not in seen:
            seen += os.read(ours, 1 << 16)
        run.terminate()
        seen += b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert run.returncode == -signal.SIGTERM
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")


def test_ctrl_c_in_a_callback_of_compiled_code_shows_the_cursor_again() -> None:
    code = """
import truedraw.cli.main as line
from rich.console import Console

class Gone:
    def __del__(self):
        raise KeyboardInterrupt

def run(arguments):
    Console(stderr=True).show_cursor(False)
    Gone()

line.run = run
from truedraw.cli.start import main
main()
"""
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=XTERM) as run:
        os.close(theirs)
        seen = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert run.returncode == 130
    assert seen.endswith(b"\x1b[?25l\x1b[?25h")
