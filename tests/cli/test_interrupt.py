"""ctrl-C at a known pass of the engine, and once in a process of its own."""

import json
import os
import signal
import subprocess
import sys

import pytest

from truedraw import load
from truedraw.cli.interrupt import interruptible

pytestmark = pytest.mark.interrupts

TOY = ("-m", "tabular", "--ignore-eos", "--seed", "5", "--spec-method", "none")
PASSES = 12


@pytest.fixture
def interrupted(interrupted_in_pass):
    """The signal comes during the twelfth pass."""
    interrupted_in_pass(PASSES)


@pytest.mark.usefixtures("interrupted")
def test_the_text_so_far_stays_with_its_statistics(cli):
    done = cli("generate", "the cat", *TOY, "--max-tokens", 50)
    assert done.code == 130
    assert f"{PASSES} new in" in done.err
    assert done.out == load("tabular").generate("the cat", seed=5, ignore_eos=True, max_tokens=PASSES).text + "\n"


@pytest.mark.usefixtures("interrupted")
def test_json_has_the_result_so_far(cli):
    done = cli("generate", "the cat", *TOY, "--max-tokens", 50, "--json", "--compare")
    result = json.loads(done.out)
    assert done.code == 130
    assert result["choices"][0]["finish_reason"] == "interrupted"
    assert len(result["choices"][0]["token_ids"]) == PASSES
    assert "comparison" not in result


@pytest.mark.usefixtures("interrupted")
def test_several_samples_are_printed_as_far_as_they_are(cli):
    done = cli("generate", "the cat", *TOY, "--max-tokens", 50, "-n", 3, "--null")
    assert done.code == 130
    assert len(done.out.split("\0")) == 4
    assert done.err.count("interrupted <==") == 3


def test_text_that_was_held_back_is_printed_too(cli, request):
    so_far = load("tabular").generate("the cat", seed=5, ignore_eos=True, max_tokens=PASSES).text
    request.getfixturevalue("interrupted")
    done = cli("generate", "the cat", *TOY, "--max-tokens", 50, "--stop", so_far[-3:] + " and what never comes")
    assert done.code == 130
    assert done.out == so_far + "\n"


def test_the_second_one_ends_the_process_and_afterwards_all_is_as_before():
    class Run:
        asked = 0

        def interrupt(self):
            self.asked += 1

    run, before = Run(), signal.getsignal(signal.SIGINT)
    with interruptible(run):
        signal.raise_signal(signal.SIGINT)
        assert run.asked == 1
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is before


def test_a_benchmark_reports_the_pairs_so_far(cli, monkeypatch):
    from truedraw.bench.pairs import Arms

    pair, count = Arms.pair, [0]

    def counted(self, tokens, plain_first):
        count[0] += 1
        if count[0] == 4:  # after the warm-up and two pairs
            signal.raise_signal(signal.SIGINT)
        return pair(self, tokens, plain_first)

    monkeypatch.setattr(Arms, "pair", counted)
    done = cli("bench", "-m", "tabular", "--limit", 5, "--max-tokens", 9)
    result = json.loads(done.out)
    assert done.code == 130
    assert (result["complete"], result["prompts"]) == (False, 2)


def process(*arguments):
    command = [sys.executable, "-m", "truedraw", "generate", "the cat", *TOY, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_as_a_process():
    with process("--max-tokens", "100000000") as running:
        first = running.stdout.read(40)
        running.send_signal(signal.SIGINT)
        rest, said = running.communicate(timeout=120)
    assert running.returncode == 130
    assert (first + rest).endswith(b"\n")
    assert b"tokens/s" in said
    assert b"Traceback" not in said


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_reader_that_leaves_ends_it_quietly():
    with process("--max-tokens", "100000000") as running:
        running.stdout.read(40)
        running.stdout.close()
        said = running.stderr.read()
    assert running.returncode == 0
    assert said == b""


def test_a_background_job_goes_on():
    class Run:
        def interrupt(self):
            raise AssertionError("it was told that ctrl-C does not concern it")

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible(Run()):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
