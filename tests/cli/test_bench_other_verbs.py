"""bench many, bench reuse and bench memory."""

import json

import pytest

from truedraw.bench.memory import MemoryUse, Stage
from truedraw.bench.reuse import Repetition

TOY = ("-m", "tabular")
MANY = ("bench", "many", *TOY, "-n", 2, "--max-tokens", 5, "--prompt-tokens", 3, "--repeats", 1)


def test_many(cli):
    done = cli(*MANY)
    assert done.code == 0
    found = json.loads(done.out.splitlines()[-1])
    assert (found["n"], found["max_tokens"], found["prompt_tokens"]) == (2, 5, 3)
    assert {"tokens_per_second", "gain_over", "other_fraction", "pages", "sampling", "cpu"} <= {*found}
    assert "2 samples of 5 tokens after 3 of prompt" in done.err
    assert cli(*MANY, "--json").err == ""


def test_many_with_a_system_that_does_not_exist(cli):
    done = cli(*MANY, "--peers", "nobody")
    assert (done.code, done.out) == (2, "")
    assert "nobody" in done.err
    assert "openvino-genai" in done.err


@pytest.mark.parametrize(("flag", "value"), [("--regex", "[a-z]+"), ("--json-schema", "{}"), ("--stop", "a")])
def test_many_names_the_flag_that_would_end_texts(cli, flag, value):
    done = cli(*MANY, flag, value)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"truedraw: error: {flag}: every sample has --max-tokens tokens here")


def test_many_refuses_texts_that_the_context_would_end(cli):
    done = cli(*MANY, "--prompt-tokens", 2**20 - 4)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("truedraw: error: --max-tokens: 5 behind a prompt of 1048572 are more than the model's")
    assert cli(*MANY, "--prompt-tokens", 2**20 - 5, "--max-tokens", 6).code == 2


def test_reuse(cli, monkeypatch):
    monkeypatch.setattr("truedraw.bench.reuse.QUESTIONS", ("the cat",))
    monkeypatch.setattr(Repetition.__init__, "__defaults__", (("the cat",), *Repetition.__init__.__defaults__[1:]))
    done = cli("bench", "reuse", *TOY, "-n", 2, "--rounds", 2)
    assert done.code == 0
    found = json.loads(done.out.splitlines()[-1])
    assert found["identical_texts"] == {"count": 12, "of": 12}
    assert "passes saved" in done.err
    assert "of 64.0 MiB" in done.err
    told = cli("bench", "reuse", *TOY, "-n", 2, "--rounds", 1, "--logits-cache-bytes", "3M")
    assert json.loads(told.out.splitlines()[-1])["work"]["cache_bytes"] == 3 << 20
    assert "of 3.0 MiB" in told.err
    assert cli("bench", "reuse", *TOY, "--logits-cache-bytes", "much").code == 2


def test_memory(cli, monkeypatch):
    use = MemoryUse(
        100_000_000, 140_000_000, 5_000_000, 90_000_000, 60_000_000, 300_000_000, 8, (Stage("started", 1, 1),)
    )
    asked = []
    monkeypatch.setattr("truedraw.bench.memory.memory_use", lambda *given: asked.append(given) or use)
    done = cli("bench", "memory", "-n", 4, "--max-tokens", 2)
    assert done.code == 0
    assert (asked[0][1].n, asked[0][1].max_tokens) == (4, 2)
    assert "peak without pages: 2.95 times the model file" in done.err
    assert json.loads(done.out)["peak_bytes"] == 300_000_000


def test_memory_of_two_models_is_refused(cli):
    done = cli("bench", "memory", "--amateur", "tabular")
    assert done.code == 2
    assert "--amateur" in done.err


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("many", *TOY, "--stop", "x"), "--stop"),
        (("many", *TOY, "--min-tokens", 2), "--min-tokens"),
        (("many", *TOY, "--peers", "transformers", "--top-p", 0.9), "--top-p"),
        (("many", *TOY, "--peers", "transformers", "--amateur", "tabular"), "--amateur"),
        (("many", *TOY, "--prefix-cache-bytes", "1M", "--spec-model", "tabular"), "--prefix-cache-bytes"),
        (("many", *TOY, "--color", "never"), "--color"),
        (("reuse", *TOY, "--color", "never"), "--color"),
        (("memory", "--color", "never"), "--color"),
        (("memory", "--cache-bytes", "1G"), "--cache-bytes"),
        (("memory", "--fixed-after", "5"), "--fixed-after"),
        (("memory", "--save-draft", "x.safetensors"), "--save-draft"),
        (("memory", "--prefix-cache-bytes", "1G"), "--prefix-cache-bytes"),
        (("memory", "--contrastive-alpha", 0.5), "--contrastive-alpha"),
    ],
)
def test_what_has_no_meaning_is_refused(cli, arguments, flag):
    done = cli("bench", *arguments)
    assert (done.code, done.out) == (2, "")
    assert flag in done.err
