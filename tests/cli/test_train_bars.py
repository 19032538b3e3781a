"""How far training is, where nobody looks at a terminal."""

import pytest

from truedraw.cli.train_bars import LINE_SECONDS, Lines, bars


def test_a_stage_is_told_of_at_its_beginning_once_a_minute_and_at_its_end(capsys):
    now = 0.0
    lines = Lines(lambda: now)
    for step in range(101):
        now = step * LINE_SECONDS / 40
        lines.tell("texts", step / 100, f"{step} tokens")
    lines.tell("training", 0.0, "loss -")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "texts: 0%, 0 tokens", "texts: 40%, 40 tokens", "texts: 80%, 80 tokens", "texts: 100%, 100 tokens",
        "training: 0%, loss -",
    ]  # fmt: skip


def test_a_stage_that_goes_on_behind_its_end_is_told_of_no_oftener(capsys):
    lines = Lines(lambda: 5.0)
    for _ in range(9):
        lines.tell("texts", 1.0, "9 tokens")
    assert capsys.readouterr().err == "texts: 100%, 9 tokens\n"


def test_off_a_terminal_there_are_lines(capsys):
    with bars() as tell:
        tell("texts", 0.5, "9 tokens")
    assert capsys.readouterr().err == "texts: 50%, 9 tokens\n"


@pytest.mark.parametrize("verb", ["draft", "compare"])
@pytest.mark.parametrize("work", ["file", "file/below"])
def test_a_folder_that_cannot_be_worked_in(cli, tmp_path, monkeypatch, verb, work):
    monkeypatch.setattr("truedraw.cli.train_plan.require_torch", lambda: None)
    (tmp_path / "file").touch()
    output = tmp_path / ("own.html" if verb == "compare" else "own.safetensors")
    done = cli("train", verb, "--output", output, "--work", tmp_path / work, "--tokens", 100, "--steps", 2)
    assert (done.code, done.out) == (2, "")
    assert "cannot be worked in" in done.err
    assert "name another folder with --work" in done.err
