import json

import pytest

from truedraw.engine.cache_use import CacheUse
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import OutOfPages
from truedraw.page.document import document

pytestmark = pytest.mark.interrupts

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
    done = sweep(cli, "the cat", "--seed", 8, "--output", out, "--html", page)
    assert (done.code, done.out) == (0, "")
    assert "12 samples done" in done.err
    assert len({*keys(read(out))}) == len(read(out)) == 12
    text = page.read_text()
    assert text.count("<figure ") == 6
    assert "the cat" in text
    assert cli("sweep", *TOY, *GRID, "the cat", "--seed", 8, "--output", out, "--no-stats").err == ""


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
    assert "0 samples done (12 were there already)\n" in sweep(cli, "the cat", "--output", out).err


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


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(cli, tmp_path, interrupted_in_pass):
    out, page = tmp_path / "out.jsonl", tmp_path / "out.html"
    interrupted_in_pass(9)
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


@pytest.mark.parametrize("overwrite", [False, True])
def test_ctrl_c_before_the_first_sample_leaves_the_reports_as_they_are(cli, tmp_path, monkeypatch, overwrite):
    if overwrite:
        assert sweep(cli, "the dog", "--output", tmp_path / "out.jsonl").code == 0
    pages = tmp_path / "out.html", tmp_path / "out.parquet"
    before = document("Sweep of another model", ""), ""
    for page, text in zip(pages, before, strict=True):
        page.write_text(text)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TabularEngine, "forward", interrupted)
    monkeypatch.setattr("truedraw.generate.offline.parquet.require_pyarrow", lambda: None)
    more = ("--output", tmp_path / "out.jsonl", "--html", pages[0], "--parquet", pages[1])
    assert sweep(cli, "the cat", *more, *(["--overwrite"] if overwrite else [])).code == 130
    assert tuple(page.read_text() for page in pages) == before


@pytest.mark.parametrize("there", ["notes", document("Exactness of a model", "")])
def test_no_page_but_an_earlier_report_is_written_over(cli, tmp_path, there):
    out, page = tmp_path / "out.jsonl", tmp_path / "out.html"
    page.write_text(there)
    done = sweep(cli, "the cat", "--output", out, "--html", page)
    assert (done.code, page.read_text(), out.exists()) == (2, there, False)
    assert "out.html is there already and is no report of ours; give another --html" in done.err
    page.write_text(document("Sweep of another model", ""))
    assert sweep(cli, "the cat", "--output", out, "--html", page).code == 0
    assert "Sweep of tabular" in page.read_text()


def test_no_table_but_that_of_a_sweep_is_written_over(cli, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    out, table = tmp_path / "out.jsonl", tmp_path / "out.parquet"
    parquet.write_table(arrow.table({"prompt": [1]}), table)
    for there in (table.read_bytes(), b"notes"):
        table.write_bytes(there)
        done = sweep(cli, "the cat", "--output", out, "--parquet", table)
        assert (done.code, table.read_bytes(), out.exists()) == (2, there, False)
        assert "out.parquet is there already and holds no samples of a sweep; give another --parquet" in done.err
    table.unlink()
    for _ in range(2):
        assert sweep(cli, "the cat", "--output", out, "--parquet", table).code == 0


@pytest.fixture
def no_room_for_dogs(monkeypatch):
    """Passes with texts of this prompt raise OutOfPages, as long as the fixture is not undone."""
    forward = TabularEngine.forward

    def short(self, works, fills=()):
        if any(tuple(part.sequence.tokens)[:2] == (0, 2) for part in (*works, *fills)):
            raise OutOfPages("the cache is out of pages")
        return forward(self, works, fills)

    with monkeypatch.context() as patch:
        patch.setattr(TabularEngine, "forward", short)
        yield patch


def test_what_had_no_room_is_drawn_again_and_its_error_is_gone_everywhere(cli, tmp_path, no_room_for_dogs):
    out, page, prompts = tmp_path / "out.jsonl", tmp_path / "out.html", tmp_path / "p.jsonl"
    prompts.write_text('{"prompt": "the cat"}\n{"prompt": "the dog"}\n')
    more = ("--prompts", prompts, "--output", out, "--html", page, "--json", "--seed", 1)
    first = json.loads(sweep(cli, *more).out)
    assert (first["done"], first["failed"]) == (24, 12)
    assert [point["failed"] for point in first["points"]] == [3] * 4
    assert "12 samples at 4 points; 12 failed." in page.read_text()
    no_room_for_dogs.undo()
    second = json.loads(sweep(cli, *more).out)
    assert (second["done"], second["failed"], second["before"], second["before_failed"]) == (12, 0, 12, 0)
    assert [(point["failed"], point["samples"]) for point in second["points"]] == [(0, 6)] * 4
    assert "24 samples at 4 points.<" in page.read_text()
    assert len({*keys(read(out))}) == len(read(out)) == 24
    assert not any("error" in record for record in read(out))


def test_a_sweep_of_which_all_samples_failed_is_an_error(cli, tmp_path, no_room_for_dogs):
    prompts, more = tmp_path / "p.jsonl", ("--output", tmp_path / "out.jsonl", "--seed", 1)
    prompts.write_text('{"prompt": "the dog"}\n')
    done = sweep(cli, "--prompts", prompts, *more)
    assert done.code == 2
    assert "12 of them failed" in done.err
    no_room_for_dogs.undo()
    assert sweep(cli, "--prompts", prompts, *more).code == 0


def test_an_error_that_stood_beside_its_sample_goes(cli, tmp_path):
    out = tmp_path / "out.jsonl"
    sweep(cli, "the cat", "--output", out)
    whole = out.read_bytes()
    error = {**read(out)[3], "error": {"type": "OutOfPages", "message": "no room"}}
    out.write_bytes(json.dumps(error).encode() + b"\n" + whole)
    assert sweep(cli, "the cat", "--output", out).code == 0
    assert out.read_bytes() == whole


def test_errors_that_stay_are_counted_among_what_was_there(cli, tmp_path):
    out = tmp_path / "out.jsonl"
    sweep(cli, "the cat", "--output", out)
    bad = {**read(out)[0], "error": {"type": "BadPrompt", "message": "too long"}}
    out.write_text("".join(json.dumps(each) + "\n" for each in (bad, *read(out)[1:])))
    again = sweep(cli, "the cat", "--output", out, "--json")
    assert "12 were there already, 1 of them failed" in again.err
    found = json.loads(again.out)
    assert (found["before"], found["before_failed"], found["done"]) == (12, 1, 0)


def test_what_was_not_computed_is_told(cli, tmp_path):
    done = sweep(cli, "the cat", "--output", tmp_path / "out.jsonl", "--json", "--max-running", 1)
    found = json.loads(done.out)
    use = found["logits_cache"]
    assert use["hits"] > 0
    assert use["hits"] + use["misses"] <= found["tokens"] + 12
    assert found["prefix_cache"] is None  # the toy has no pages
    assert f"reused: {use['hits']} of {use['hits'] + use['misses']} rows of logits" in done.err
    again = sweep(cli, "the cat", "--output", tmp_path / "out.jsonl", "--json")
    assert again.code == 0
    assert "reused" not in again.err  # nothing was run
    assert "logits_cache" not in json.loads(again.out)


def test_prefixes_that_were_found_in_this_run_are_told(cli, tmp_path, monkeypatch):
    asked = iter([100, 107])  # before and behind the run

    def use(engine):
        return CacheUse(9, 9, 9, 9, tokens_asked=next(asked), tokens_found=90)

    monkeypatch.setattr(TabularEngine, "cache_use", use, raising=False)
    done = sweep(cli, "the cat", "--output", tmp_path / "out.jsonl", "--json")
    assert json.loads(done.out)["prefix_cache"] == {"tokens_asked": 12 * 2, "tokens_found": 12 * 2 - 7}
    assert "reused: 17 of 24 prompt tokens from shared prefixes" in done.err


def test_half_a_surrogate_pair_is_refused_before_the_work(cli, tmp_path):
    (tmp_path / "p.jsonl").write_bytes(b'{"prompt": "the"}\n{"prompt": "a\\ud800b"}\n')
    done = sweep(cli, "--prompts", tmp_path / "p.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "line 2: the prompt holds half of a surrogate pair" in done.err


def test_a_bar_counts_tokens_as_they_come_and_has_colours_as_asked(cli, monkeypatch):
    monkeypatch.setattr("truedraw.cli.progress.has_bars", lambda _: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
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
        (["--top-k", "0,5,-1", "the"], ["--top-k", "0 and -1 both keep all tokens; give one of them"]),
        (["-t", "1", "--top-p", "0", "the"], ["top_p", "above 0"]),
        (["--top-k", "1.5", "the"], ["--top-k", "whole"]),
        (["--top-k", "-2", "the"], ["top_k", "-2"]),
        (["-t", "1"], ["PROMPT", "--prompts"]),
        (["-t", "1", "the", "--prompts", "x.jsonl"], ["PROMPT", "--prompts"]),
        (["-t", "1", "--prompts", "missing.jsonl"], ["missing.jsonl"]),
        (["-t", "1", ""], ["empty"]),
        (["-t", "1", "the", "-n", "0"], ["--n"]),
        (["-t", "1,2", "the", "-n", "9" * 20], ["n: got 9999", "at most 4,611,686,018,427,387,903 samples"]),
        (["-t", "1", "the", "-n", "9" * 400], ["n: got 9999", "at most 9,223,372,036,854,775,807 samples"]),
        (["-t", "1", "the", "--html", "x.html"], ["--html", "--output"]),
        (["-t", "1", "the", "--output", "x.jsonl", "--html", "no/folder/x.html"], ["--html no/folder/x.html"]),
        (["-t", "1", "the", "--chat"], ["no chat template"]),
        (["-t", "1", "the", "--json"], ["--json", "--output"]),
        (["-t", "1", "the", "--output", "x", "--html", "x"], ["--output", "also the file of --html"]),
        (["-t", "1", "the", "--output", "x", "--html", "x.settings.json"], ["the settings of --output", "--html"]),
        (["-t", "1", "the", "--output", "x", "--parquet", "./x"], ["--output", "--parquet"]),
        (["-t", "1", "the", "--output", "x/"], ["--output: x/ is the name of a folder; give a file, or - for stdout"]),
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


def test_a_top_k_of_hundreds_of_digits_has_its_report(cli, tmp_path):
    out, page = tmp_path / "out.jsonl", tmp_path / "out.html"
    done = cli("sweep", *TOY, "--top-k", f"5,{10**400}", "-n", 1, "the", "--output", out, "--html", page, "--json")
    assert done.code == 0
    assert str(10**400) in page.read_text()


def test_a_key_that_stands_twice_in_a_prompt_is_refused(cli, tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "the"}\n{"prompt": "the", "prompt": "the dog"}\n')
    done = sweep(cli, "--prompts", tmp_path / "p.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "p.jsonl, line 2: prompt: the key stands there twice; give it once" in done.err


def test_what_is_varied_follows_no_schedule(cli, tmp_path):
    done = sweep(cli, "the", "--temperature", "1,0.5", "--schedule", "temperature=0:0")
    assert done.code == 2
    assert "temperature is what the sweep varies" in done.err


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_that_cannot_be_is_refused_before_a_file_is_made(cli, tmp_path, seed):
    done = cli("sweep", *TOY, *GRID, "the cat", "--seed", seed, "--output", tmp_path / "out.jsonl")
    assert (done.code, "seed: got" in done.err, list(tmp_path.iterdir())) == (2, True, [])
