"""One clear line on stderr, exit code 2, nothing on stdout."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from truedraw.cli.options import notice_not_kept
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.engine.constants.weights import WEIGHTS
from truedraw.errors import OutOfPages

TOY = ("-m", "tabular")


def assert_refused(done, *words):
    assert done.code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("truedraw: error: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hi", "-m", "smollm2-135"], ["'smollm2-135'", "did you mean smollm2-135m"]),
        (["hi", "-m", "no/such/file.gguf"], ["no/such/file.gguf"]),
        (["hi", "-m", ""], ["name is empty", "smollm2-135m"]),
        (["hi", "-m", "x" * 300], ["no model", "catalogue"]),
        (["hi", "-m", "x/" * 3000 + "y.gguf"], ["no file or folder"]),
        (["hi", "-m", "~nobody-of-that-name/x"], ["home folder"]),
        (["hi", *TOY, "--spec-model", "x" * 300], ["no model"]),
        (["hi", "-m", "/dev/null"], ["/dev/null", "neither a file nor a folder"]),
        (["hi", "-m", "/dev/null/x.gguf"], ["/dev/null/x.gguf"]),
        (["hi", *TOY, "--cache", ""], ["--cache", "got ''", "leave it out"]),
        (["hi", *TOY, "--config", ""], ["--config", "got ''", "leave it out"]),
        (["hi", *TOY, "--cache-bytes", "lots"], ["--cache-bytes", "'lots'", "512M"]),
        (["hi", *TOY, "--cache-bytes", "1G"], ["cache_bytes", "no such setting"]),
        (["hi", *TOY, "--prefix-cache-bytes", "few"], ["--prefix-cache-bytes", "'few'", "0 for none"]),
        (["hi", *TOY, "--fixed-after", "5"], ["fixed_after", "no such setting"]),
        (["hi", *TOY, "--fixed-after", "soon"], ["--fixed-after", "'soon'"]),
        (["hi", *TOY, "--prefix-cache-bytes", "0"], ["prefix_cache_bytes", "no such setting"]),
        (["hi", *TOY, "--prefix-cache-bytes", "1M", "--compare"], ["--prefix-cache-bytes", "compared"]),
        (
            ["hi", "--cache-bytes", "8M", "--prefix-cache-bytes", "9M"],
            ["--prefix-cache-bytes: got 9M, but it is a part of --cache-bytes 8M; give at most that"],
        ),
        (["hi", *TOY, "--temperature", "9" * 5000], ["temperature"]),
        (["hi", *TOY, "--top-k", "9" * 5000], ["--top-k"]),
        (["hi", *TOY, "--logit-bias", "9" * 5000 + "=1"], ["--logit-bias"]),
        (
            ["hi", *TOY, "--speculative-config", '{"num_speculative_tokens": %s}' % ("9" * 5000)],
            ["--speculative-config", "5000 digits"],
        ),
        (["hi", *TOY, "--json-schema", '{"minimum": %s}' % ("9" * 5000)], ["json_schema", "5000 digits"]),
        (["", *TOY], ["prompt is empty"]),
        (["hi", *TOY, "--temperature", "-1"], ["temperature", "-1", "from 0 to 1000000"]),
        (["hi", *TOY, "--temperature", "nan"], ["temperature", "nan"]),
        (["hi", *TOY, "--temperature", "inf"], ["temperature", "inf"]),
        (["hi", *TOY, "--temperature", "hot"], ["--temperature", "'hot'"]),
        (["hi", *TOY, "--top-p", "0"], ["top_p", "above 0"]),
        (["hi", *TOY, "--top-p", "1.1"], ["top_p", "1.1"]),
        (["hi", *TOY, "--min-p", "2"], ["min_p"]),
        (["hi", *TOY, "--typical-p", "0"], ["typical_p"]),
        (["hi", *TOY, "--top-k", "-5"], ["top_k", "-5"]),
        (["hi", *TOY, "--top-k", "-2"], ["top_k", "-2", "0 and -1 keep all"]),
        (["hi", *TOY, "--top-k", "2.5"], ["--top-k", "2.5"]),
        (["hi", *TOY, "--max-tokens", "0"], ["max_tokens"]),
        (["hi", *TOY, "-n", "0"], ["n:", "1 or more"]),
        (["hi", *TOY, "--seed", "-1"], ["seed", "-1"]),
        (["hi", *TOY, "--seed", str(2**64)], ["seed"]),
        (["hi", *TOY, "--stop", ""], ["stop"]),
        (["hi", *TOY, "--stop", "\udcff"], ["stop", "not UTF-8"]),
        (["hi", *TOY, "--bad-words", "\udcff"], ["bad_words", "not UTF-8"]),
        (["hi", *TOY, "--regex", "\udcff"], ["regex", "not UTF-8"]),
        (["hi", *TOY, "--json-schema", '{"const":"\udcff"}'], ["json_schema", "not UTF-8"]),
        (["hi", *TOY, "--stop-token-ids", "-3"], ["stop_token_ids"]),
        (["hi", *TOY, "--threads", "0"], ["--threads"]),
        (["hi", *TOY, "--numerics", "fast"], ["--numerics", "invariant"]),
        (["hi", *TOY, "--color", "pink"], ["--color", "always"]),
        (["hi", *TOY, "--temprature", "1"], ["--temprature", "--temperature"]),
        (["hi", *TOY, "--json", "--null"], ["--null", "--json"]),
        (["hi", *TOY, "--spec-method", "oracle"], ["'oracle'", "ngram"]),
        (["hi", *TOY, "--spec-tokens", "-2"], ["num_speculative_tokens", "-2"]),
        (["hi", *TOY, "--speculative-config", "{"], ["--speculative-config", "not JSON"]),
        (["hi", *TOY, "--speculative-config", "[" * 10_000], ["--speculative-config", "not JSON"]),
        (["hi", *TOY, "--speculative-config", "[]"], ["give an object"]),
        (["hi", *TOY, "--speculative-config", '{"speed": 9}'], ["speed", "num_speculative_tokens"]),
        (["hi", *TOY, "--speculative-config", '{"method": []}'], ["method"]),
        (["hi", *TOY, "--speculative-config", '{"method": "none", "method": "ngram"}'], ["method: the key", "twice"]),
        (["hi", *TOY, "--speculative-config", '{"method": "none"}', "--spec-method", "ngram"], ["contradicts"]),
        (["hi", *TOY, "--speculative-config", '{"num_speculative_tokens": 2}', "--spec-tokens", "3"], ["contradicts"]),
        ([*TOY], ["PROMPT"]),
        (["hi", "there", *TOY], ["there"]),
    ],
)
def test_generate(cli, arguments, words):
    assert_refused(cli("generate", *arguments), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--prompts", "missing.jsonl"], ["missing.jsonl", "cannot be read"]),
        (["--repeats", "0"], ["--repeats"]),
        (["--limit", "0"], ["--limit"]),
        (["--batch-sizes", "1,x"], ["--batch-sizes", "1,x"]),
        (["--batch-sizes", "0"], ["--batch-sizes"]),
        (["--batch-sizes", "²"], ["--batch-sizes"]),
        (["--top-p", "0"], ["top_p"]),
    ],
)
def test_bench(cli, arguments, words):
    assert_refused(cli("bench", *TOY, *arguments), *words)


def test_an_engine_without_room_names_the_flag(cli, monkeypatch):
    def full(*_args, **_more):
        raise OutOfPages("the cache is out of pages: raise cache_bytes")

    monkeypatch.setattr("truedraw.generate.loading.load", full)
    assert_refused(cli("generate", "hi", *TOY), "out of pages", "--cache-bytes")


def test_a_verb_that_does_not_exist(cli):
    assert_refused(cli("genrate", "hi"), "genrate")


@pytest.mark.parametrize("data", [b"not a model", b"", b"GGUF", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64])
def test_a_broken_model_file(cli, tmp_path, data):
    (tmp_path / "broken.gguf").write_bytes(data)
    assert_refused(cli("generate", "hi", "-m", tmp_path / "broken.gguf", "--cache", tmp_path / "c"), "broken.gguf")


def test_an_empty_model_folder(cli, tmp_path):
    assert_refused(cli("models", "show", tmp_path, "--cache", tmp_path / "c"), "config.json")


def test_prompts_that_are_not_utf8(cli, tmp_path):
    assert_refused(cli("generate", "-", *TOY, stdin=b"caf\xe9"), "stdin", "byte 4 is 0xe9", "UTF-8")
    assert_refused(cli("generate", b"caf\xe9".decode(errors="surrogateescape"), *TOY), "not UTF-8")
    (tmp_path / "p.jsonl").write_bytes(b'{"prompt": "fine"}\n{"prompt": "caf\xe9"}\n')
    assert_refused(cli("bench", *TOY, "--prompts", tmp_path / "p.jsonl"), "p.jsonl, line 2", "UTF-8")


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_texts_are_utf8_in_every_locale_as_prompts_are():
    command = [sys.executable, "-m", "truedraw", "generate", "é✓", *TOY, "--stop", "é", "--no-stats"]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **ASCII})
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_argument_in_another_encoding_is_the_same_text():
    given = "é✓".encode().decode("ascii", errors="surrogateescape")
    flags = SamplingFlags(stop=[given], bad_words=[given], regex=given, grammar=f"start: {given}")
    assert flags.given() == {"stop": ["é✓"], "bad_words": ["é✓"], "regex": "é✓", "grammar": "start: é✓"}


def test_an_empty_prompt_on_stdin(cli):
    assert_refused(cli("generate", "-", *TOY, stdin=b""), "prompt is empty")


def test_as_a_process_there_is_no_traceback_either():
    done = subprocess.run(
        [sys.executable, "-m", "truedraw", "generate", b"caf\xe9", "-m", "tabular"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"truedraw: error: the prompt is not UTF-8")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_stdout_is_one_line_and_exit_code_2() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "truedraw", "generate", "-m", "tabular", "the", "--no-stats"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("verb", [["generate", "-m", "tabular", "the", "--json"], ["models", "list"], ["--help"]])
def test_every_verb_says_that_the_output_is_full(verb) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "truedraw", *verb], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "the output cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(("verb", "code"), [
    (["generate", "-m", "tabular", "the", "--seed", "1"], 0), (["generate", "-m", "tabular", "the", "--top-p", "2"], 2),
])  # fmt: skip
def test_a_full_disk_under_stderr_changes_nothing(verb, code: int) -> None:
    command = [sys.executable, "-m", "truedraw", *verb]
    whole = subprocess.run(command, capture_output=True, check=False)
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False)
    assert whole.stderr
    assert (done.returncode, done.stdout) == (whole.returncode, whole.stdout)
    assert done.returncode == code


def test_another_error_of_the_system_is_not_put_on_the_output(cli, monkeypatch) -> None:
    def broken(*_args, **_more):
        raise OSError(71, "Protocol error")

    monkeypatch.setattr("truedraw.generate.loading.load", broken)
    with pytest.raises(OSError, match="Protocol error"):
        cli("generate", "hi", *TOY)


@pytest.mark.parametrize("value", [2**63, 10**30])
def test_numbers_beyond_64_bits(cli, value):
    for flag in ("--top-k", "--max-tokens", "--no-repeat-ngram", "--spec-tokens"):
        done = cli("generate", "the", *TOY, flag, str(value), "--seed", "1", "--no-stats", "--stop", ".")
        assert (done.code, done.err) == (0, "")
    for flag in ("--n", "--best-of", "--stop-token-ids", "--allowed-token-ids", "--mirostat"):
        assert_refused(cli("generate", "the", *TOY, flag, str(value)), flag.strip("-").replace("-", "_"))
    assert_refused(cli("generate", "the", *TOY, "--logit-bias", f"{value}=1"), "logit_bias", "0 to 5")
    assert_refused(cli("generate", "the", *TOY, "--min-tokens", str(value)), "min_tokens", "max_tokens")
    for config, words in (
        ({"method": "ngram", "prompt_lookup_max": value}, ["prompt_lookup_max", "1 to 64"]),
        ({"auto_sources": value}, ["auto_sources", "give a list"]),
    ):
        assert_refused(cli("generate", "the", *TOY, "--speculative-config", json.dumps(config)), *words)


def test_the_toy_has_no_settings() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "truedraw", "generate", "-m", "tabular", "the", "--numerics", "reference"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "numerics" in done.stderr


def test_all_weights_of_the_engine_have_a_flag(cli) -> None:
    for weights in WEIGHTS:
        done = cli("generate", "the", *TOY, "--weights", weights, "--max-tokens", "1")
        assert done.code == (0 if weights == "auto" else 2)
        assert weights == "auto" or "is a table and has no such setting" in done.err


def test_a_stop_token_outside_the_vocabulary() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "truedraw", "generate", "-m", "tabular", "the", "--stop-token-ids", "99999"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "stop_token_ids" in done.stderr


def test_weights_that_cannot_be_kept_are_a_notice(capsys):
    notice_not_kept(SimpleNamespace(not_kept="/cache/converted: Permission denied"))
    assert "cannot be kept in /cache/converted: Permission denied; each start converts them" in capsys.readouterr().err
    notice_not_kept(SimpleNamespace(not_kept=None))
    notice_not_kept(object())
    assert capsys.readouterr().err == ""


def test_models_pull_verifies(cli, monkeypatch, tmp_path):
    asked = []

    def opened(name, **options):
        asked.append((name, options["verify"]))
        return SimpleNamespace(path=tmp_path / "m.gguf")

    monkeypatch.setattr("truedraw.cli.models.open_checkpoint", opened)
    assert cli("models", "pull").code == 0
    assert asked == [("smollm2-135m", True)]


@pytest.mark.parametrize("verb", [
    ("index", "build", "{name}", "{text}", *TOY), ("index", "add", "{name}", "{text}", *TOY),
    ("index", "build", "{fresh}", "{name}", *TOY), ("index", "info", "{name}"),
    ("ngrams", "build", "{name}", "{text}", *TOY), ("ngrams", "info", "{name}"),
    ("generate", *TOY, "--input", "{text}", "--output", "{name}"),
    ("generate", *TOY, "--input", "{name}", "--output", "{fresh}"), ("tune", *TOY, "--output", "{name}"),
    ("sweep", "the", *TOY, "-t", "1", "--max-tokens", "2", "--output", "{name}"),
    ("sweep", "the", *TOY, "-t", "1", "--max-tokens", "2", "--output", "{fresh}", "--html", "{name}"),
    ("generate", "the", *TOY, "--config", "{name}"),
], ids=" ".join)  # fmt: skip
def test_a_name_that_no_file_system_takes(cli, tmp_path, verb) -> None:
    (tmp_path / "text").write_text('{"prompt": "the cat"}\n')
    names = {"name": "x" * 300, "text": str(tmp_path / "text"), "fresh": str(tmp_path / "fresh")}
    done = cli(*(word.format(**names) for word in verb))
    assert done.code == 2
    line = done.err.splitlines()[-1]
    assert line.startswith("truedraw: error: ")
    assert names["name"] in line


@pytest.mark.parametrize(
    ("arguments", "known"), [(["nothing"], "generate, chat, sweep, "), (["models", "nothing"], "list, pull, show.")]
)
def test_a_verb_that_is_none_is_told_with_those_there_are(cli, arguments, known):
    assert_refused(cli(*arguments), f"No such command 'nothing'. Valid ones are {known}")
