"""A cache without room for a text: what was drawn is kept, and the error says how much would do."""

from __future__ import annotations

import errno
import json
import re

import pytest

from truedraw.engine.tabular import TabularEngine
from truedraw.errors import OutOfPages

SMALL = 2211840  # bytes: two pages and the one that nobody reads
DRAW = ("generate", "Hi", "--max-tokens", 100, "--ignore-eos", "--seed", 1, "--no-stats", "--cache-bytes")


def enough(said: str) -> int:
    return int(re.findall(r"cache_bytes has to be (\d+)", said)[0])


def test_what_was_drawn_is_told_and_what_would_do(cli) -> None:
    done = cli(*DRAW, SMALL, "--json")
    assert done.code == 2
    told = json.loads(done.out)
    assert told["error"]["type"] == "OutOfPages"
    assert told["error"]["message"] in done.err
    (choice,) = told["choices"]
    assert choice["finish_reason"] == "interrupted"
    assert len(choice["token_ids"]) > 10
    whole = cli(*DRAW, enough(done.err), "--json")
    assert whole.code == 0
    (same,) = json.loads(whole.out)["choices"]
    assert same["token_ids"][: len(choice["token_ids"])] == choice["token_ids"]
    assert len(same["token_ids"]) == 100


def test_a_text_on_the_screen_ends_with_its_line(cli) -> None:
    done = cli(*DRAW, SMALL)
    assert done.code == 2
    assert done.out.endswith("\n")
    assert len(done.out) > 20


def test_a_long_prompt_is_told_what_all_of_it_takes(cli) -> None:
    long = ("generate", "-", "--max-tokens", 20, "--ignore-eos", "--no-stats", "--seed", 1, "--cache-bytes")
    done = cli(*long, 3_000_000, stdin=b"word " * 300)
    assert (done.code, done.out) == (2, "")
    assert "it may have 3" in done.err
    assert cli(*long, enough(done.err), stdin=b"word " * 300).code == 0


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_conversation_from_a_pipe_keeps_what_was_said(cli, flags) -> None:
    given = ("--max-tokens", 200, "--ignore-eos", "--seed", 1, "--no-stats", "--cache-bytes", 3 * SMALL)
    done = cli("chat", *given, *flags, stdin=b"the cat\nagain\n")
    assert done.code == 2
    assert "the cache is out of pages" in done.err
    assert done.out.endswith("\n")
    assert (json.loads(done.out.splitlines()[-1])["error"]["type"] if flags else "OutOfPages") == "OutOfPages"
    assert len(done.out) > 40


def test_an_error_before_the_first_token_is_all_there_is(cli, monkeypatch) -> None:
    def never(self, *works):
        raise OutOfPages("the cache is full")

    monkeypatch.setattr(TabularEngine, "forward", never)
    done = cli("generate", "the cat", "-m", "tabular", "--json")
    assert (done.code, done.out) == (2, "")


def not_found() -> OSError:
    """As of a package that looks for its library in several places."""
    error = OSError("could not load libllvmlite.so")
    error.__context__ = OSError("libllvmlite.so: failed to map segment from shared object")
    return error


@pytest.mark.parametrize("more", [(), ("numba/core.py",)])
def test_too_many_open_files_are_one_line(cli, monkeypatch, more) -> None:
    def opened(*_given: object, **_named: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files", *more)

    monkeypatch.setattr("truedraw.cli.options.opened", opened)
    done = cli("generate", "the cat", "-m", "tabular")
    said = "".join(f"{name}: " for name in more) + "Too many open files; raise the limit on open files (ulimit -n)"
    assert (done.code, done.out, done.err) == (2, "", f"truedraw: error: {said}\n")


@pytest.mark.parametrize(
    "error",
    [MemoryError(), MemoryError("27 MiB"), OSError(errno.ENOMEM, "Cannot allocate"), not_found(),
     ImportError("libopenblas.so: failed to map segment from shared object")],
)  # fmt: skip
def test_memory_that_the_system_does_not_give_is_one_line(cli, monkeypatch, error) -> None:
    def opened(*_given: object, **_named: object) -> None:
        raise error

    monkeypatch.setattr("truedraw.cli.options.opened", opened)
    done = cli("generate", "the cat", "-m", "tabular")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("truedraw: error: there is not enough memory")
    assert "()" not in line
