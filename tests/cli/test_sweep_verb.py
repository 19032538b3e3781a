import json
import signal

import pytest

from truedraw.engine.tabular import TabularEngine

GRID = ("--temperature", "0.3,1", "--top-p", "0.9,1", "-n", 3)
TOY = ("-m", "tabular", "--max-tokens", 6)


def sweep(cli, *arguments, **more):
    return cli("sweep", *TOY, *GRID, *arguments, **more)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def keys(records):
    return [(r["prompt"], r["temperature"], r["top_p"], r["sample"]) for r in records]


def test_a_line_a_sample_and_a_report(cli, tmp_path):
    out, page = tmp_path / "out.jsonl", tmp_path / "out.html"
    done = sweep(cli, "the cat", "--output", out, "--html", page)
    assert (done.code, done.out) == (0, "")
    assert "12 samples done" in done.err
    assert len({*keys(read(out))}) == len(read(out)) == 12
    text = page.read_text()
    assert text.count("<figure ") == 6
    assert "the cat" in text
    assert cli("sweep", *TOY, *GRID, "the cat", "--output", out, "--no-stats").err == ""


def test_a_sample_is_written_again_by_its_seed(cli):
    done = sweep(cli, "the cat", "--seed", 4)
    for record in map(json.loads, done.out.splitlines()):
        again = cli("generate", *TOY, "the cat", "-t", record["temperature"], "--top-p", record["top_p"],
                    "--seed", record["seed"], "--json")  # fmt: skip
        assert json.loads(again.out)["choices"][0]["text"] == record["text"]


def test_many_prompts_on_stdout(cli, tmp_path):
    (tmp_path / "p.jsonl").write_bytes(b'\xef\xbb\xbf{"prompt": "the"}\r\n{"turns": ["the dog", "x"]}\n')
    done = sweep(cli, "--prompts", tmp_path / "p.jsonl", "--max-running", 5)
    assert sorted({*keys(map(json.loads, done.out.splitlines()))})[-1] == (1, 1.0, 1.0, 2)
    assert done.out.count("\n") == 24


def test_run_again_it_goes_on_with_the_same_samples(cli, tmp_path):
    out = tmp_path / "out.jsonl"
    sweep(cli, "the cat", "--output", out, "--seed", 4)
    whole = out.read_bytes()
    out.write_bytes(b"".join(whole.splitlines(keepends=True)[:5]) + b'{"prompt": 0')
    again = sweep(cli, "the cat", "--output", out)
    assert again.code == 0
    assert "7 samples done (5 were there already)" in again.err
    before = {(*key, r["text"]) for r in map(json.loads, whole.splitlines()) for key in keys([r])}
    assert {(*key, r["text"]) for r in read(out) for key in keys([r])} == before
    assert len(read(out)) == len(before) == 12
    assert "0 samples done (12 were there already)" in sweep(cli, "the cat", "--output", out).err


def test_with_other_settings_it_does_not_go_on(cli, tmp_path):
    out = tmp_path / "out.jsonl"
    sweep(cli, "the cat", "--output", out)
    whole = out.read_bytes()
    for change in (
        ("the dog",),
        ("the cat", "--seed", 1),
        ("the cat", "--ignore-eos"),
        ("the cat", "--min-p", "0,0.1"),
    ):
        done = sweep(cli, *change, "--output", out)
        assert done.code == 2
        assert "begun with other settings" in done.err
        assert out.read_bytes() == whole
    done = sweep(cli, "the dog", "--output", out, "--overwrite")
    assert done.code == 0
    assert len(read(out)) == 12


def test_one_object_at_the_end(cli, tmp_path):
    out = tmp_path / "out.jsonl"
    found = json.loads(sweep(cli, "the cat", "--output", out, "--json", "--seed", 4).out)
    assert (found["done"], found["failed"], found["before"], found["complete"]) == (12, 0, 0, True)
    assert (found["prompts"], found["model"], found["seed"]) == (1, "tabular", 4)
    assert [(point["temperature"], point["top_p"], point["samples"]) for point in found["points"]] == [
        (0.3, 0.9, 3), (0.3, 1.0, 3), (1.0, 0.9, 3), (1.0, 1.0, 3),
    ]  # fmt: skip
    again = json.loads(sweep(cli, "the cat", "--output", out, "--json").out)
    assert (again["done"], again["before"]) == (0, 12)
    assert again["points"] == found["points"]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(cli, tmp_path, monkeypatch):
    out, page, count = tmp_path / "out.jsonl", tmp_path / "out.html", [0]
    forward = TabularEngine.forward

    def counted(self, *works):
        count[0] += 1
        if count[0] == 9:
            signal.raise_signal(signal.SIGINT)
        return forward(self, *works)

    monkeypatch.setattr(TabularEngine, "forward", counted)
    more = ("--output", out, "--html", page, "--max-running", 2, "--seed", 1, "--ignore-eos", "--json")
    first = sweep(cli, "the cat", *more)
    assert first.code == 130
    assert "the same command goes on with" in first.err
    found = json.loads(first.out)
    assert found["complete"] is False
    assert 0 < found["done"] == len(read(out)) < 12
    assert f"{found['done']} samples at" in page.read_text()
    second = sweep(cli, "the cat", *more)
    assert (second.code, json.loads(second.out)["complete"]) == (0, True)
    assert len({*keys(read(out))}) == len(read(out)) == 12


def test_a_bar_counts_tokens_as_they_come_and_has_colours_as_asked(cli, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # draws the bar where there is no terminal
    shown = {color: sweep(cli, "the cat", "--color", color).err for color in ("always", "never")}
    for text in shown.values():
        assert "tokens/s" in text
        assert "12/12" in text
    assert "\x1b[3" in shown["always"]
    assert "\x1b[3" not in shown["never"]


def test_a_table(cli, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    sweep(cli, "the cat", "--output", tmp_path / "out.jsonl", "--parquet", tmp_path / "out.parquet")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert keys(rows) == keys(read(tmp_path / "out.jsonl"))
    assert [row["text"] for row in rows] == [record["text"] for record in read(tmp_path / "out.jsonl")]


def test_without_the_table_extra_it_is_said_before_the_work(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    done = sweep(cli, "the cat", "--output", tmp_path / "out.jsonl", "--parquet", tmp_path / "out.parquet")
    assert done.code == 2
    assert "pip install 'truedraw[parquet]'" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["the"], ["--temperature", "something to vary"]),
        (["-t", "0.5,x", "the"], ["--temperature", "0.5,x"]),
        (["-t", "", "the"], ["--temperature"]),
        (["-t", "1,1.0", "the"], ["--temperature", "twice"]),
        (["-t", "1", "--top-p", "0", "the"], ["top_p", "above 0"]),
        (["--top-k", "1.5", "the"], ["--top-k", "whole"]),
        (["--top-k", "-2", "the"], ["top_k", "-2"]),
        (["-t", "1"], ["PROMPT", "--prompts"]),
        (["-t", "1", "the", "--prompts", "x.jsonl"], ["PROMPT", "--prompts"]),
        (["-t", "1", "--prompts", "missing.jsonl"], ["missing.jsonl"]),
        (["-t", "1", ""], ["empty"]),
        (["-t", "1", "the", "-n", "0"], ["--n"]),
        (["-t", "1", "the", "--html", "x.html"], ["--html", "--output"]),
        (["-t", "1", "the", "--output", "x.jsonl", "--html", "no/folder/x.html"], ["--html no/folder/x.html"]),
        (["-t", "1", "the", "--chat"], ["no chat template"]),
        (["-t", "1", "the", "--json"], ["--json", "--output"]),
        (["-t", "1", "the", "--output", "x", "--html", "x"], ["--output", "also the file of --html"]),
        (["-t", "1", "the", "--output", "x", "--html", "x.settings.json"], ["the settings of --output", "--html"]),
        (["-t", "1", "the", "--output", "x", "--parquet", "./x"], ["--output", "--parquet"]),
        (["-t", "9" * 5000, "the"], ["temperature"]),
        (["--top-k", "9" * 5000, "the"], ["--top-k"]),
    ],
)
def test_bad_use(cli, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    done = cli("sweep", *TOY, *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    for word in words:
        assert word in line
