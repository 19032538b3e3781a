"""Variables of the environment that no flag has."""

import pytest

TOY = ("generate", "the", "-m", "tabular", "--max-tokens", 2, "--no-stats")
NOTICE = "truedraw: notice: no flag has the environment variable "


def test_one_that_was_written_wrongly(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_CAHCE", "x")
    monkeypatch.setenv("TRUEDRAW_MAX_TOKEN", "5")
    done = cli(*TOY)
    assert done.code == 0
    assert done.err.splitlines() == [
        NOTICE + "TRUEDRAW_CAHCE (did you mean TRUEDRAW_CACHE?)",
        NOTICE + "TRUEDRAW_MAX_TOKEN (did you mean TRUEDRAW_MAX_TOKENS?)",
    ]
    assert cli("models", "list").err == done.err


@pytest.mark.parametrize(
    ("theirs", "ours"), [("TEMP", "TEMPERATURE"), ("SYSTEM_PROMPT", "SYSTEM"), ("N_PREDICT", "MAX_TOKENS")]
)
def test_one_that_is_a_flag_of_another_program(cli, monkeypatch, theirs, ours):
    monkeypatch.setenv(f"TRUEDRAW_{theirs}", "1")
    assert cli(*TOY).err == f"{NOTICE}TRUEDRAW_{theirs} (did you mean TRUEDRAW_{ours}?)\n"


def test_one_that_is_like_none(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_ZZZZZZ", "x")
    assert cli(*TOY).err == NOTICE + "TRUEDRAW_ZZZZZZ\n"


def test_those_of_any_verb_are_known(cli, monkeypatch):
    for name in ("SYSTEM", "QUICK", "LOSSES", "PROMPT_TOKENS", "VOCAB_SIZES", "SEED"):
        monkeypatch.setenv(f"TRUEDRAW_{name}", "1")
    assert cli(*TOY).err == ""


def test_a_name_with_a_line_break_is_told_in_one_line(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_ZZ\nZZ", "x")
    assert cli(*TOY).err == NOTICE + "TRUEDRAW_ZZ\N{SYMBOL FOR NEWLINE}ZZ\n"
