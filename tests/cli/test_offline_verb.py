"""truedraw generate --input."""

import errno
import io
import json
import os
from pathlib import Path

import pytest

from truedraw import input_files
from truedraw.engine.tabular import TabularEngine

pytestmark = pytest.mark.interrupts

TOY = ("-m", "tabular", "--max-tokens", 5)
LINES = b"""{"prompt": "the cat", "id": "a"}

{"prompt": "the", "n": 2, "temperature": 0.2}
{"prompt": "the", "colour": "red"}
{"prompt": [0, 2], "seed": 9}
"""
FEWER = LINES.splitlines()[0] + b"\n" * 9 + b'{"prompt": "the"}'


@pytest.fixture
def source(tmp_path):
    (tmp_path / "prompts.jsonl").write_bytes(LINES)
    return tmp_path / "prompts.jsonl"


def read(path):
    return {record["line"]: record for record in map(json.loads, path.read_text().splitlines())}


def texts(record):
    return [choice["text"] for choice in record.get("choices", ())]


def test_all_lines_are_tried_and_errors_stay_beside_their_lines(cli, source, tmp_path):
    done = cli("generate", *TOY, "--input", source, "--output", tmp_path / "out.jsonl", "--seed", 1)
    assert (done.code, done.out) == (0, "")
    assert "4 prompts done, 1 of them failed" in done.err
    assert "the first that failed: line " in done.err
    found = read(tmp_path / "out.jsonl")
    assert sorted(found) == [1, 3, 4, 5]
    assert found[1]["id"] == "a"
    assert "colour" in found[4]["error"]["message"]


def test_a_result_is_written_again_by_its_seed(cli, source, tmp_path):
    cli("generate", *TOY, "--input", source, "--output", tmp_path / "out.jsonl", "--seed", 1)
    for line, prompt, more in ((1, "the cat", ()), (3, "the", ("--temperature", 0.2, "-n", 2))):
        record = read(tmp_path / "out.jsonl")[line]
        again = json.loads(cli("generate", *TOY, prompt, "--seed", record["seed"], *more, "--json").out)
        assert [c["text"] for c in record["choices"]] == [c["text"] for c in again["choices"]]


def test_from_stdin_to_stdout(cli, source, tmp_path):
    cli("generate", *TOY, "--input", source, "--output", tmp_path / "out.jsonl", "--seed", 1)
    done = cli("generate", *TOY, "--input", "-", "--seed", 1, stdin=b"\xef\xbb\xbf" + LINES.replace(b"\n", b"\r\n"))
    assert done.code == 0
    piped = {record["line"]: record for record in map(json.loads, done.out.splitlines())}
    assert [piped[n].get("choices", [{}])[0].get("text") for n in (1, 3, 4, 5)] == [
        read(tmp_path / "out.jsonl")[n].get("choices", [{}])[0].get("text") for n in (1, 3, 4, 5)
    ]


def test_run_again_it_does_only_what_is_left_with_the_seed_it_had(cli, source, tmp_path):
    out = tmp_path / "out.jsonl"
    cli("generate", *TOY, "--input", source, "--output", out)
    whole = out.read_bytes()
    out.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]) + b'{"line": 5, "half')
    again = cli("generate", *TOY, "--input", source, "--output", out)
    assert again.code == 0
    assert "2 prompts done" in again.err
    assert "(2 were there already" in again.err
    before = {r["line"]: texts(r) for r in map(json.loads, whole.splitlines())}
    assert {line: texts(record) for line, record in read(out).items()} == before
    assert len(out.read_text().splitlines()) == 4
    nothing_left = cli("generate", *TOY, "--input", source, "--output", out).err
    assert "0 prompts done (4 were there already" in nothing_left
    assert ("reused" in again.err, "reused" in nothing_left) == (True, False)
    source.write_bytes(LINES + b'{"prompt": "the dog"}\n')  # and more may come later
    assert "1 prompt done" in cli("generate", *TOY, "--input", source, "--output", out).err


def test_results_that_were_deleted_leave_no_seed_behind(cli, source, tmp_path):
    out, seeds = tmp_path / "out.jsonl", []
    for _ in range(2):
        cli("generate", *TOY, "--input", source, "--output", out)
        seeds.append([record.get("seed") for record in read(out).values()])
        out.unlink()
    assert seeds[0] != seeds[1]


@pytest.mark.parametrize(("config", "said"), [
    ({"method": "suffix", "rejection_sample_method": "traversal"}, True), ({"method": "suffix"}, False),
    ({"method": "none"}, False),
])  # fmt: skip
def test_a_file_that_goes_on_under_a_rule_whose_texts_depend_on_drafts_says_so(cli, source, tmp_path, config, said):
    batch = "generate", "--input", source, "--output", tmp_path / "out.jsonl"
    sweep = "sweep", "the cat", "--temperature", "0.5,1", "-n", "2", "--output", tmp_path / "sweep.jsonl"
    for verb in (batch, sweep):
        drawn = [*verb, *TOY, "--speculative-config", json.dumps(config)]
        assert "goes on under the rule" not in cli(*drawn).err + cli(*drawn).err  # the second time nothing is left
        verb[-1].write_bytes(verb[-1].read_bytes().splitlines(keepends=True)[0])
        assert ("goes on under the rule traversal" in cli(*drawn).err) == said


def test_other_settings_and_other_prompts_are_refused(cli, source, tmp_path):
    out = tmp_path / "out.jsonl"
    cli("generate", *TOY, "--input", source, "--output", out)
    whole = out.read_bytes()
    done = cli("generate", *TOY, "--input", source, "--output", out, "--temperature", 0.5)
    assert done.code == 2
    assert "sampling.temperature was not given, is 0.5" in done.err
    source.write_bytes(LINES.replace(b"cat", b"dog"))
    done = cli("generate", *TOY, "--input", source, "--output", out)
    assert done.code == 2
    assert "line 1 of the prompts is not what it was" in done.err
    assert out.read_bytes() == whole
    assert cli("generate", *TOY, "--input", source, "--output", out, "--overwrite", "-t", 0.5).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--input", "missing.jsonl"], ["missing.jsonl", "cannot be read"]),
        (["--input", "-", "a prompt"], ["PROMPT", "--input"]),
        (["--input", "-", "--null"], ["--null"]),
        (["--input", "-", "--compare"], ["--compare"]),
        (["--input", "-", "--max-running", "0"], ["--max-running"]),
        (["--input", "-", "--json"], ["--json", "--output"]),
        (["--input", "-", "--overwrite"], ["--overwrite", "goes with --output FILE"]),
        (["--input", "-", "--overwrite", "--output", "-"], ["--overwrite", "goes with --output FILE"]),
        (["--input", "-", "--output", "no/such/folder/out.jsonl"], ["no/such/folder", "exists and may be written to"]),
        (["--input", "-", "--output", "no_folder_yet/"], ["--output", "no_folder_yet/ is the name of a folder"]),
        (["--input", "-", "--temperature", "-1"], ["temperature"]),
        (["the", "--output", "x.jsonl"], ["--output", "--input"]),
        (["the", "--overwrite"], ["--overwrite"]),
        (["the", "--max-running", "3"], ["--max-running"]),
    ],
)
def test_bad_use(cli, arguments, words):
    done = cli("generate", *TOY, *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    for word in words:
        assert word in line


@pytest.mark.skipif(os.name == "nt", reason="needs devices")
def test_a_device_is_no_input(cli, tmp_path):
    done = cli("generate", *TOY, "--input", "/dev/zero", "--output", tmp_path / "out.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "--input /dev/zero cannot be read: it is a device; give a file, or a pipe" in done.err


@pytest.mark.parametrize("verb", [("generate", "--input", "-"), ("generate", "-"), ("chat",), ("sweep", "-")])
def test_a_device_is_no_stdin(cli, tmp_path, monkeypatch, verb):
    out = () if verb in {("generate", "-"), ("chat",)} else ("--output", tmp_path / "out.jsonl")
    with Path("/dev/zero").open("rb") as zeros:
        monkeypatch.setattr(input_files, "STDIN", zeros.fileno())
        done = cli(*verb, *TOY, *out, stdin=b"")
    assert done.code == 2
    assert "stdin cannot be read: it is a device; give a file, or a pipe" in done.err


class Broken(io.RawIOBase):
    """A disk that fails, or a stdin that is open for writing only."""

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, _room):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.fixture
def broken():
    return io.BufferedReader(Broken())


@pytest.mark.parametrize("verb", [("generate", "--input", "-"), ("generate", "-"), ("chat",), ("sweep", "-", "-t", 1)])
def test_a_stdin_that_cannot_be_read(cli, broken, verb):
    done = cli(*verb, *TOY, stdin=broken)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert " cannot be read: Input/output error; give a file" in line


@pytest.mark.parametrize("at_terminal", [True, False])
def test_an_input_that_cannot_be_read(cli, source, monkeypatch, broken, at_terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: at_terminal)
    opened = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how: broken if path == source else opened(path, *how))
    done = cli("generate", *TOY, "--input", source)
    assert (done.code, done.out) == (2, "")
    assert " cannot be read: Input/output error; give a file" in done.err


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(cli, tmp_path, interrupted_in_pass):
    out = tmp_path / "out.jsonl"
    interrupted_in_pass(6)  # few are needed: every prompt is the same, and rows that are known need none
    command = ("generate", *TOY, "--input", "-", "--output", out, "--max-running", 2, "--seed", 1, "--ignore-eos")
    stdin = b'{"prompt": "the"}\n' * 40
    first = cli(*command, stdin=stdin)
    assert first.code == 130
    assert "the same command goes on with" in first.err
    kept = len(read(out))
    assert 0 < kept < 40
    assert cli(*command, stdin=stdin).code == 0
    assert sorted(read(out)) == list(range(1, 41))
    assert len(out.read_text().splitlines()) == 40


@pytest.mark.parametrize(
    ("fewer", "gone"),
    [(b"".join(LINES.splitlines(keepends=True)[:3]), 2), (LINES.replace(LINES.splitlines()[0], b" "), 1), (b"", 4)],
)
def test_prompts_that_have_become_fewer_are_said_before_the_work(cli, source, tmp_path, fewer, gone):
    out = tmp_path / "out.jsonl"
    cli("generate", *TOY, "--input", source, "--output", out)
    whole = out.read_bytes()
    source.write_bytes(fewer + b"\n" * 9 + b'{"prompt": "a new one"}\n')
    for given, stdin in ((source, b""), ("-", source.read_bytes())):
        done = cli("generate", *TOY, "--input", given, "--output", out, stdin=stdin)
        assert (done.code, done.out) == (2, "")
        assert f"the prompts have become fewer: {gone} of the 4 that" in done.err
        assert out.read_bytes() == whole


def test_a_pipe_that_has_become_shorter_is_told_at_the_end(cli, source, tmp_path, monkeypatch):
    out = tmp_path / "out.jsonl"
    cli("generate", *TOY, "--input", source, "--output", out)
    monkeypatch.setattr("truedraw.cli.offline._look_ahead", lambda lines, done: None)
    done = cli("generate", *TOY, "--input", "-", "--output", out, stdin=FEWER)
    assert done.code == 2
    assert "the prompts have become fewer: 3 of the 4 that" in done.err
    assert len(out.read_text().splitlines()) == 5


def test_one_object_at_the_end(cli, source, tmp_path):
    out = tmp_path / "out.jsonl"
    command = ("generate", *TOY, "--input", source, "--output", out, "--seed", 3, "--json")
    found = json.loads(cli(*command).out)
    assert found["seconds"] > 0
    assert found["tokens"] == sum(each["stats"]["tokens"] for each in read(out).values() if "stats" in each) > 0
    assert (found["done"], found["failed"], found["before"], found["complete"]) == (4, 1, 0, True)
    assert (found["output"], found["model"], found["seed"]) == (str(out), "tabular", 3)
    assert found["prefix_cache"] is None  # the toy has no pages
    again = json.loads(cli(*command).out)
    assert (again["done"], again["before"], again["before_failed"]) == (0, 4, 1)


def test_input_and_output_are_two_files(cli, tmp_path):
    prompts = tmp_path / "q.jsonl"
    prompts.write_text('{"prompt": "the"}\n')
    soft, hard = tmp_path / "soft.jsonl", tmp_path / "hard.jsonl"
    soft.symlink_to(prompts)
    hard.hardlink_to(prompts)
    for output in (prompts, soft, hard):
        done = cli("generate", *TOY, "--input", prompts, "--output", output, "--overwrite")
        assert (done.code, done.out) == (2, "")
        assert "--output" in done.err
    assert prompts.read_text() == '{"prompt": "the"}\n'


@pytest.fixture
def streams():
    """streams(0, path): the descriptor leads to that file until the test is over."""
    kept = []

    def lead(descriptor, path):
        kept.append((descriptor, os.dup(descriptor)))
        file = os.open(path, os.O_RDWR | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)

    yield lead
    for descriptor, before in kept:
        os.dup2(before, descriptor)
        os.close(before)


@pytest.mark.parametrize("command", [("generate", "--input", "-"), ("sweep", "-", "-t", 1)])
def test_what_stdin_reads_is_not_written_over(cli, tmp_path, streams, command):
    prompts = tmp_path / "q.jsonl"
    prompts.write_text(kept := '{"prompt": "the"}\n')
    streams(0, prompts)
    verb, *how = command
    with prompts.open("rb") as stdin:
        done = cli(verb, *TOY, *how, "--output", prompts, "--overwrite", stdin=stdin)
    assert done.code == 2
    assert "is also the file of" in done.err
    assert prompts.read_text() == kept


def test_results_do_not_go_to_the_end_of_their_own_input(cli, tmp_path, streams):
    prompts = tmp_path / "q.jsonl"
    prompts.write_text('{"prompt": "the"}\n')
    streams(1, prompts)
    done = cli("generate", *TOY, "--input", prompts)
    assert done.code == 2
    assert "is also the file of --input" in done.err


@pytest.mark.parametrize("command", [("generate", "--input", "-"), ("sweep", "the", "-t", 1)])
def test_the_summary_is_not_written_over_the_results(cli, tmp_path, streams, command):
    out = tmp_path / "out.jsonl"
    out.touch()
    streams(1, out)
    verb, *how = command
    done = cli(verb, *TOY, *how, "--output", out, "--json")
    assert (done.code, out.read_text()) == (2, "")
    assert "--output: " in done.err
    assert "is also the file of stdout" in done.err


def test_a_line_that_had_no_room_is_tried_again(cli, tmp_path):
    out = tmp_path / "out.jsonl"
    command = ("generate", *TOY, "--input", "-", "--output", out, "--seed", 1, "--max-tokens", 3)
    stdin = b'{"prompt": "the"}\n{"prompt": 5}\n'
    assert cli(*command, stdin=stdin).code == 0
    first, second = (json.loads(line) for line in out.read_text().splitlines())
    good, bad = (first, second) if first["line"] == 1 else (second, first)
    kept = {name: good[name] for name in ("line", "digest")}
    full = {**kept, "error": {"type": "OutOfPages", "message": "the cache is out of pages"}}
    out.write_text("".join(json.dumps(each) + "\n" for each in (full, bad)))
    assert cli(*command, stdin=stdin).code == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["line"] for record in records] == [2, 1]  # one record a line: the error has made room
    assert [each["token_ids"] for each in records[-1]["choices"]] == [each["token_ids"] for each in good["choices"]]


@pytest.mark.parametrize(
    "line",
    [
        '{"prompt": "the", "speculative": 5}',
        '{"prompt": "the", "speculative": []}',
        '{"prompt": "the", "sampler_order": [[1]]}',
        '{"prompt": "the", "n": 20000000}',
        '{"prompt": "the", "best_of": 1000000000000000000000000000000}',
    ],
)
def test_what_a_line_may_hold_never_ends_the_batch(cli, line):
    done = cli("generate", *TOY, "--input", "-", "--max-tokens", 2, stdin=f'{line}\n{{"prompt": "the"}}\n'.encode())
    assert done.code == 0
    records = {record["line"]: record for record in map(json.loads, done.out.splitlines())}
    assert records[1]["error"]["type"] == "BadParameter"
    assert "choices" in records[2]


def test_the_settings_beside_the_output_are_no_input(cli, tmp_path):
    prompts = tmp_path / "out.jsonl.settings.json"
    prompts.write_text('{"prompt": "the"}\n')
    done = cli("generate", *TOY, "--input", prompts, "--output", tmp_path / "out.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "settings.json would write over what --input" in done.err
    assert prompts.read_text() == '{"prompt": "the"}\n'


def test_a_refused_command_leaves_the_errors_where_they_are(cli, tmp_path):
    out = tmp_path / "out.jsonl"
    command = ("generate", *TOY, "--input", "-", "--output", out, "--seed", 1)
    cli(*command, stdin=b'{"prompt": "the"}\n')
    (good,) = read(out).values()
    full = {"line": 2, "digest": good["digest"], "error": {"type": "OutOfPages", "message": "no room"}}
    with out.open("a") as file:
        file.write(json.dumps(full) + "\n")
    whole = out.read_bytes()
    for stdin, more in ((b'{"prompt": "a dog"}\n', ()), (b'{"prompt": "the"}\n', ("--top-k", 5))):
        assert cli(*command, *more, stdin=stdin).code == 2
        assert out.read_bytes() == whole


@pytest.mark.parametrize(
    ("lines", "code"), [("", 0), ('{"prompt": ""}\n', 2), ('{"prompt": ""}\n{"prompt": "the"}\n', 0), ("[]\nno\n", 2)]
)
def test_a_run_of_which_all_failed_is_an_error(cli, tmp_path, lines, code):
    for _ in "run, and what is there looked at again":
        done = cli("generate", *TOY, "--input", "-", "--output", tmp_path / "out.jsonl", stdin=lines.encode())
        assert done.code == code


@pytest.mark.parametrize("digits", [400, 1000, 5000])
def test_a_number_without_end_stays_beside_its_line(cli, digits):
    line = '{"prompt": "the", "temperature": %s}' % ("9" * digits)
    done = cli("generate", *TOY, "--input", "-", stdin=line.encode())
    assert done.code == 2
    message = json.loads(done.out)["error"]["message"]
    assert len(message) < 200
    assert "temperature" in message or f"{digits} digits" in message


@pytest.mark.parametrize("wrong", [("--cache-bytes", "5X"), ("--threads", 3), ("-m", "no/such.gguf")])
def test_a_run_that_cannot_begin_overwrites_nothing(cli, source, tmp_path, wrong):
    out = tmp_path / "out.jsonl"
    cli("generate", *TOY, "--input", source, "--output", out, "--seed", 1)
    before = out.read_bytes()
    done = cli("generate", *TOY, "--input", source, "--output", out, "--overwrite", *wrong)
    assert done.code == 2
    assert out.read_bytes() == before


def test_a_limit_on_the_size_of_a_file_is_no_want_of_room(cli, source, tmp_path, monkeypatch):
    def limited(file, data):
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr("truedraw.generate.offline.journal.os.write", limited)
    done = cli("generate", *TOY, "--input", source, "--output", tmp_path / "out.jsonl")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "File too large; raise the limit on the size of a file (ulimit -f), and run the same command" in done.err


def test_a_full_disk_loses_nothing(cli, source, tmp_path, monkeypatch):
    out, write, given = tmp_path / "out.jsonl", os.write, []

    def full(file, data):
        given.append(data)
        if len(given) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr("truedraw.generate.offline.journal.os.write", full)
    done = cli("generate", *TOY, "--input", source, "--output", out, "--seed", 1)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "out.jsonl cannot be written: No space left on device; make room" in done.err
    monkeypatch.undo()
    assert cli("generate", *TOY, "--input", source, "--output", out, "--seed", 1).code == 0
    assert sorted(read(out)) == [1, 3, 4, 5]


@pytest.mark.parametrize(
    "record", ['{"line": 1000000000000, "digest": "1"}', '{"line": 1e400, "digest": "1"}',
               '{"line": 1, "digest": "11111111111111111"}'],
)  # fmt: skip
def test_a_damaged_record_is_named(cli, source, tmp_path, record):
    out = tmp_path / "out.jsonl"
    cli("generate", *TOY, "--input", source, "--output", out, "--seed", 1)
    with out.open("a") as file:
        file.write(record + "\n")
    done = cli("generate", *TOY, "--input", source, "--output", out, "--seed", 1)
    assert done.code == 2
    assert "holds a result without a line of prompts" in done.err


def test_a_line_that_names_what_cannot_be_a_file_ends_alone(cli, tmp_path):
    source = tmp_path / "odd.jsonl"
    names = [{"method": "suffix", "suffix_decoding_index": "a\0b"}, {"method": "model", "model": "x" * 300},
             {"method": "ngram-lm", "ngram_lm_path": "~nobody-of-that-name/x"}]  # fmt: skip
    lines = [{"prompt": "the"}, *({"prompt": "the", "speculative": each} for each in names), {"prompt": "the cat"}]
    source.write_text("\n".join(map(json.dumps, lines)))
    done = cli("generate", *TOY, "--input", source, "--output", tmp_path / "out.jsonl", "--max-running", 1)
    assert done.code == 0
    found = read(tmp_path / "out.jsonl")
    assert ["error" in found[line] for line in range(1, 6)] == [False, True, True, True, False]


def test_ctrl_c_before_the_first_result_overwrites_nothing(cli, source, tmp_path, monkeypatch):
    out = tmp_path / "out.jsonl"
    source.write_bytes(b'{"prompt": "the cat"}')
    cli("generate", *TOY, "--input", source, "--output", out, "--seed", 1)
    before = out.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TabularEngine, "forward", interrupted)
    done = cli("generate", *TOY, "--input", source, "--output", out, "--overwrite", "--seed", 2)
    assert done.code == 130
    assert out.read_bytes() == before


def test_a_run_without_any_line_overwrites_too(cli, source, tmp_path):
    out = tmp_path / "out.jsonl"
    cli("generate", *TOY, "--input", source, "--output", out, "--seed", 1)
    source.write_bytes(b"\n\n")
    assert cli("generate", *TOY, "--input", source, "--output", out, "--overwrite").code == 0
    assert out.read_bytes() == b""
