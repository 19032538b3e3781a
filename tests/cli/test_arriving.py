"""Prompts that come one by one: each is answered when it is there, and nobody waits for the next one."""

import json
import os
import subprocess
import sys
from threading import Timer

import pytest

from truedraw.cli.arriving import CHUNK, ArrivingLines, arriving, is_ready

PATIENCE_SECONDS = 60


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        try:
            os.close(descriptor)
        except OSError:  # by the test
            continue


def test_lines_come_whole_whatever_pieces_they_are_written_in(pipe):
    read, write = pipe
    lines = ArrivingLines(read)
    assert not lines.is_ready()
    os.write(write, b"fir")
    assert not lines.is_ready()
    os.write(write, b"st\r\n  \nlast")
    assert lines.is_ready()
    assert (next(lines), next(lines)) == (b"first\r\n", b"  \n")
    assert not lines.is_ready()
    os.close(write)
    assert list(lines) == [b"last"]
    assert lines.is_ready()
    assert list(lines) == []


def test_long_lines_and_many(tmp_path):
    """More than a pipe holds, against a file's own lines."""
    path = tmp_path / "lines"
    path.write_bytes(b"x" * (3 * CHUNK + 5) + b"\n" + b"short\n" * CHUNK + b"\n")
    with path.open("rb") as file:
        assert list(ArrivingLines(file.fileno())) == path.read_bytes().splitlines(keepends=True)


def test_the_end_is_something_to_be_read(pipe):
    read, write = pipe
    os.close(write)
    assert ArrivingLines(read).is_ready()


def test_an_error_is_met_by_whoever_reads(tmp_path):
    with (tmp_path / "lines").open("wb") as file:  # for writing only
        lines = ArrivingLines(file.fileno())
        assert lines.is_ready()
        with pytest.raises(OSError, match="Bad file descriptor"):
            next(lines)


def test_what_can_be_read_twice_is_read_as_it_is(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"a\n")
    with path.open("rb") as file:
        assert arriving(file) is file
        assert is_ready(file)


def test_a_descriptor_that_does_not_wait(pipe):
    read, write = pipe
    os.set_blocking(read, False)
    Timer(0.2, os.write, (write, b"late\n")).start()
    assert next(ArrivingLines(read)) == b"late\n"


@pytest.mark.parametrize("behind", [b"", b"no JSON\n", b"\n\n"])
def test_each_prompt_is_answered_before_the_next_one_is_there(behind):
    """Whatever else stands behind it."""
    command = (sys.executable, "-m", "truedraw", "generate", "-m", "tabular", "--input", "-", "--max-tokens", "3")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        end = Timer(PATIENCE_SECONDS, process.kill)
        end.start()
        for number in (1, 2, 3):
            process.stdin.write(b'{"prompt": "the cat"}\n' * (1 + number % 2) + behind)
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline()) for _ in range(1 + number % 2 + ("JSON" in str(behind)))]
            assert sum("choices" in answer for answer in answers) == 1 + number % 2
        process.stdin.close()
        assert process.wait() == 0
        end.cancel()
