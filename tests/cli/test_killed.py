"""Killed without warning, again and again: no sample is lost, none is doubled, none is another one."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
PATIENCE_SECONDS = 300
POLL_SECONDS = 0.002


def size(path):
    return path.stat().st_size if path.exists() else 0


def killed(command, out, bytes_more):
    """Kill it when its file has grown by so many bytes; True where it was still running then."""
    wanted, deadline = size(out) + bytes_more, time.monotonic() + PATIENCE_SECONDS
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while size(out) < wanted and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(POLL_SECONDS)
        process.send_signal(signal.SIGKILL)
        process.stderr.read()
    return process.returncode == -signal.SIGKILL


def finished(command):
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stderr


def records(path, *names):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    by_key = {tuple(record[name] for name in names): record for record in found}
    assert len(by_key) == len(found)
    return by_key


def texts(found):
    return {key: (record["seed"], record["text"], record["token_ids"]) for key, record in found.items()}


@pytest.mark.slow
def test_a_sweep(tmp_path):
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    command = [sys.executable, "-m", "truedraw", "sweep", "the cat", "-m", "tabular", "-t", "0.5,1", "-n", "400",
               "--ignore-eos", "--max-tokens", "20", "--max-running", "3", "--seed", "11", "--output"]  # fmt: skip
    random.seed(7)
    kills = sum(killed([*command, str(out)], out, random.randrange(1, 150_000)) for _ in range(3))
    assert kills
    finished([*command, str(out)])
    finished([*command, str(whole)])
    keys = ("prompt", "temperature", "sample")
    assert len(records(out, *keys)) == 800
    assert texts(records(out, *keys)) == texts(records(whole, *keys))


@pytest.mark.slow
def test_a_batch_of_prompts(tmp_path):
    out, source = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    source.write_text("".join(f'{{"prompt": "the cat", "id": {i}}}\n' for i in range(600)))
    command = [sys.executable, "-m", "truedraw", "generate", "-m", "tabular", "--ignore-eos", "--max-tokens", "20",
               "--input", str(source), "--output", str(out), "--max-running", "4"]  # fmt: skip
    random.seed(8)
    kills = sum(killed(command, out, random.randrange(1, 300_000)) for _ in range(2))
    assert kills
    finished(command)
    found = records(out, "line")
    assert sorted(found) == [(i,) for i in range(1, 601)]
    assert all(record["id"] == record["line"] - 1 for record in found.values())


@pytest.mark.slow
@pytest.mark.model
def test_a_sweep_of_the_default_model(tmp_path):
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    command = [sys.executable, "-m", "truedraw", "sweep", "Once upon a time", "-t", "0.7,1", "-n", "6",
               "--max-tokens", "12", "--max-running", "4", "--seed", "11", "--output"]  # fmt: skip
    assert killed([*command, str(out)], out, 1)
    assert 0 < len(out.read_text().splitlines()) < 12
    finished([*command, str(out)])
    finished([*command, str(whole)])
    keys = ("prompt", "temperature", "sample")
    assert len(records(out, *keys)) == 12
    assert texts(records(out, *keys)) == texts(records(whole, *keys))
