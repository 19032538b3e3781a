"""What a command reads, its outputs never write over, by whatever names."""

import json
import os
from pathlib import Path

import pytest

from truedraw.cli.written_over import Named, check_inputs_kept, identity
from truedraw.draft.eagle.card import CARD
from truedraw.errors import BadParameter


@pytest.fixture
def files(tmp_path):
    """A model's file, a folder of one, and something else."""
    (tmp_path / "m.gguf").write_bytes(b"model")
    (tmp_path / "folder").mkdir()
    for name in ("config.json", "model.safetensors", "mine.jsonl"):
        (tmp_path / "folder" / name).write_text("{}")
    (tmp_path / "other").write_text("x")
    return tmp_path


@pytest.mark.parametrize("link", ["itself", "symbolic", "hard", "dots"])
@pytest.mark.parametrize("named", ["text", "path", "list", "json"])
def test_a_file_that_another_flag_names(files, link, named):
    model, out = files / "m.gguf", files / "out"
    if link == "symbolic":
        out.symlink_to(model)
    elif link == "hard":
        out.hardlink_to(model)
    else:
        out = model if link == "itself" else files / "folder" / ".." / "m.gguf"
    value = {"text": str(model), "path": model, "list": [str(model)], "json": json.dumps({"a": [{"b": str(model)}]})}
    with pytest.raises(
        BadParameter, match=r"--html: .* would write over what --model .*m.gguf reads; give another file"
    ):
        check_inputs_kept([Named("--html", out, ()), Named("--model", value[named], None)])


def test_a_value_that_is_nested_deeply(files):
    deep = str(files / "m.gguf")
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(BadParameter, match="would write over what --config"):
        check_inputs_kept([Named("--html", files / "m.gguf", ()), Named("--config", deep, None)])


def test_a_part_of_a_folder_that_another_flag_names(files, monkeypatch):
    folder = files / "folder"
    monkeypatch.chdir(folder)
    for given in (folder, ".", str(folder)):
        for part in ("config.json", folder / "model.safetensors"):
            with pytest.raises(BadParameter, match=r"--output: .* would write over what --model"):
                check_inputs_kept([Named("--model", given, None), Named("--output", part, ())])
        check_inputs_kept([Named("--model", given, None), Named("--output", "mine.jsonl", ())])


def test_a_folder_that_another_flag_names(files):
    with pytest.raises(BadParameter, match="would write over what --model"):
        check_inputs_kept([Named("--model", files / "folder", None), Named("--output", files / "folder", ())])


def test_a_file_to_come_is_one_by_all_its_names(files):
    (files / "link").symlink_to("folder")
    assert identity(files / "link" / "new") == identity(files / "folder" / "new")


def test_a_folder_of_links(files):
    """As a snapshot in the hub's own cache is one."""
    snapshot = files / "snapshot"
    snapshot.mkdir()
    for name in ("config.json", "model.safetensors"):
        (snapshot / name).symlink_to(files / "folder" / name)
    for part in (snapshot / "config.json", files / "folder" / "model.safetensors"):
        with pytest.raises(BadParameter, match="would write over what --model"):
            check_inputs_kept([Named("--model", snapshot, None), Named("--html", part, ())])


def test_the_file_that_stdout_goes_to(files, monkeypatch):
    with (files / "other").open("w") as out:
        monkeypatch.setattr("sys.stdout", out)
        with pytest.raises(BadParameter, match=r"--html: .*other is the file that stdout goes to, too; give another"):
            check_inputs_kept([Named("--html", files / "other", ())])
        check_inputs_kept([Named("--html", files / "new", ())])
        check_inputs_kept([Named("--prompts", files / "other", None)])


def test_a_home_folder_is_the_same_by_both_its_names(files, monkeypatch):
    monkeypatch.setenv("HOME", str(files))
    config = Named("--speculative-config", '{"head_path": "~/other"}', None)
    for out in (Path("~/other"), files / "other"):
        with pytest.raises(BadParameter, match="would write over what --speculative-config"):
            check_inputs_kept([Named("--save-draft", out, ("--draft",)), config])


def test_a_folder_may_be_called_like_the_home_folder(files, monkeypatch):
    monkeypatch.chdir(files)
    (files / "folder").rename("~")
    with pytest.raises(BadParameter, match="would write over what --prompts"):
        check_inputs_kept([Named("--html", "~/mine.jsonl", ()), Named("--prompts", files / "~" / "mine.jsonl", None)])


def test_results_in_a_models_folder_may_go_on(files, monkeypatch):
    monkeypatch.chdir(files / "folder")
    Path("out.json").write_text("{}")
    check_inputs_kept([Named("--model", ".", None), Named("--output", "out.json", ())])


def test_what_may_be_written(files):
    model, draft = Named("--model", files / "m.gguf", None), Named("--draft", files / "other", None)
    for path in (files / "new", files / "folder" / "new.json", "-", "", "x" * 5000, None):
        check_inputs_kept([model, draft, Named("--output", path, ())])
    check_inputs_kept([model, draft, Named("--save-draft", files / "other", ("--draft",))])
    check_inputs_kept([Named("--prompt", "{not json", None), Named("--stop", "\0", None), Named("--html", "o", ())])


@pytest.mark.parametrize("stop", [".", "~~~", "old.jsonl", "~nobody/x"])
def test_a_text_is_no_name_of_a_file(cli, tmp_path, monkeypatch, stop):
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"prompt": "the cat"}\n')
    given = "generate", "--input", "in.jsonl", "-m", "tabular", "--stop", stop, "--output", "old.jsonl"
    for _ in range(2):
        assert cli(*given, "--max-tokens", 2, "--seed", 1).code == 0


def test_a_model_at_nobodys_home_is_named(cli):
    done = cli("generate", "hi", "-m", "~nobody-at-all/x.gguf")
    assert (done.code, done.out) == (2, "")
    assert "begins with a home folder that is not known" in done.err


@pytest.mark.parametrize("flag", ["--html", "--parquet", "--output"])
@pytest.mark.parametrize("read", ["--prompts", "--config", "--grammar", "--speculative-config"])
def test_a_sweep_keeps_what_it_reads(cli, tmp_path, flag, read):
    mine = tmp_path / "mine"
    mine.write_text('{"prompt": "the cat"}\n' if read == "--prompts" else "")
    value = json.dumps({"method": "suffix", "suffix_decoding_index": str(mine)})
    given = [
        read,
        value if read == "--speculative-config" else mine,
        flag,
        mine,
        *(["--overwrite"] * (flag == "--output")),
    ]
    prompt = [] if read == "--prompts" else ["the cat"]
    before = mine.read_bytes()
    done = cli("sweep", *prompt, "-m", "tabular", "--temperature", "0.5,1", *given)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert "would write over" in done.err or "is also the file of" in done.err
    assert mine.read_bytes() == before


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_an_output_that_is_only_ever_a_folder(cli, tmp_path, name):
    (tmp_path / "in.jsonl").write_text('{"prompt": "the cat"}\n')
    done = cli("generate", "--input", tmp_path / "in.jsonl", "-m", "tabular", "--output", name)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert "which is a folder; give a file" in done.err
    assert os.listdir(tmp_path) == ["in.jsonl"]
    assert Path(tmp_path / "in.jsonl").stat().st_size


@pytest.mark.parametrize("kind", ["recurrent", "transformer", "eagle3"])
@pytest.mark.parametrize("read", ["--prompts", "--config", "--model"])
@pytest.mark.parametrize("output", ["mine", None])
def test_the_report_of_a_training_keeps_what_is_read(cli, tmp_path, monkeypatch, has_torch, kind, read, output):
    monkeypatch.chdir(tmp_path)
    usual = {"recurrent": "head", "transformer": "draft-model", "eagle3": "eagle-draft"}[kind]
    mine = Path(f"{output or usual}.html")
    text = '{"prompt": "the cat"}\n' if read == "--prompts" else ""
    mine.write_text(text)
    given = ("--kind", kind, *(() if output is None else ("--output", output)), read, mine, "--overwrite")
    given += () if read == "--model" else ("--model", "tabular")
    done = cli("train", "draft", *given)
    assert (done.code, done.out) == (2, "")
    assert f"--output: {mine} would write over what {read} {mine} reads" in done.err
    assert mine.read_text() == text


def test_a_draft_that_is_replaced_holds_no_prompts(cli, tmp_path, has_torch):
    folder = tmp_path / "eagle"
    folder.mkdir()
    (folder / CARD).write_text("{}")
    (folder / "mine.jsonl").write_text('{"prompt": "the cat"}\n')
    done = cli("train", "draft", "--kind", "eagle3", "-o", folder, "--prompts", folder / "mine.jsonl")
    assert done.code == 2
    assert "would write over what --prompts" in done.err


@pytest.mark.parametrize("verb", ["generate", "sweep"])
@pytest.mark.parametrize("read", ["--grammar", "--config"])
def test_the_settings_beside_results_keep_what_is_read(cli, tmp_path, verb, read):
    mine = tmp_path / "own.jsonl.settings.json"
    mine.write_text("")
    (tmp_path / "in.jsonl").write_text('{"prompt": "the cat"}\n')
    given = ("--input",) if verb == "generate" else ("--temperature", "0.5,1", "--prompts")
    done = cli(verb, *given, tmp_path / "in.jsonl", "-m", "tabular", "-o", tmp_path / "own.jsonl", read, mine)
    assert (done.code, done.out) == (2, "")
    assert f"--output: {mine} would write over what {read} {mine} reads" in done.err
    assert mine.read_text() == ""


@pytest.mark.parametrize("verb", ["draft", "compare"])
@pytest.mark.parametrize("read", ["--prompts", "--documents"])
def test_what_is_read_is_not_begun_anew_with_the_folder_that_is_worked_in(
    cli, tmp_path, monkeypatch, has_torch, verb, read
):
    monkeypatch.chdir(tmp_path)
    for name in ("texts.jsonl", "mine.jsonl"):
        Path(name).write_text('{"prompt": "the cat"}\n')
    given = ("train", verb, "-m", "tabular", "--work", ".", "--overwrite", read)
    done = cli(*given, "texts.jsonl")
    assert (done.code, done.out) == (2, "")
    assert f"--work: texts.jsonl would write over what {read} texts.jsonl reads" in done.err
    assert "tabular is a table" in cli(*given, "mine.jsonl").err
    assert Path("texts.jsonl").stat().st_size
