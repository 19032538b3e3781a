"""A pipe that nobody reads any more: under stdout it ends the program quietly, under stderr it changes nothing."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a pipe that nobody reads")

TOY = ("-m", "tabular", "--seed", "1")
BENCH = ("bench", *TOY, "--limit", "2", "--max-tokens", "8", "--raw")
WHOLE = [("the", ("generate", "-", *TOY, "-n", "3")), ("", ("generate", "the", *TOY, "--json")), ("", BENCH),
         ("", ("sweep", "the", *TOY, "--temperature", "0.5,1"))]  # fmt: skip


@pytest.fixture
def unread():
    """The end to write to of a pipe whose other end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def start(*arguments, **more):
    return subprocess.run([sys.executable, "-m", "truedraw", *arguments], check=False, **more)


@pytest.mark.parametrize(("given", "verb"), WHOLE)
def test_the_output_is_whole_where_nobody_reads_what_is_said_beside_it(given, verb, unread):
    done = start(*verb, input=given.encode(), stdout=subprocess.PIPE, stderr=unread)
    assert done.returncode == 0
    assert done.stdout.endswith(b"\n")


def test_a_file_of_results_is_whole_too(tmp_path, unread):
    (tmp_path / "p.jsonl").write_text('{"prompt": "the"}\n{"prompt": "the cat"}\n')
    verb = ("generate", *TOY, "--input", tmp_path / "p.jsonl", "--output", tmp_path / "s.jsonl")
    assert start(*verb, stdout=subprocess.PIPE, stderr=unread).returncode == 0
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 2


def test_an_error_that_nobody_reads_has_its_exit_code(unread):
    assert start("generate", "the", *TOY, "--top-p", "2", stderr=unread).returncode == 2


@pytest.mark.parametrize(
    "verb", [("--help",), ("generate", "--help"), ("models", "list"), ("index", "info", "i.tdx"), ("--version",)]
)
def test_an_output_that_nobody_reads_is_no_error(verb, tmp_path, unread):
    (tmp_path / "p.txt").write_text("the cat")
    if verb[0] == "index":
        start("index", "build", "i.tdx", "p.txt", "-m", "tabular", cwd=tmp_path, stdout=subprocess.DEVNULL)
    done = start(*verb, cwd=tmp_path, stdout=unread, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
