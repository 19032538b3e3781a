import io
import json

import pytest

from truedraw.cli.colour import coloured, painter, safe, verbatim, wants_colour
from truedraw.cli.index import print_facts

NASTY = "\x1b]0;title\x07"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("color", "out", "environment", "wanted"),
    [
        ("auto", Terminal(), {}, True),
        ("auto", io.StringIO(), {}, False),
        ("auto", Terminal(), {"NO_COLOR": "1"}, False),
        ("auto", Terminal(), {"NO_COLOR": ""}, True),
        ("auto", Terminal(), {"TERM": "dumb"}, False),
        ("always", io.StringIO(), {"NO_COLOR": "1"}, True),
        ("never", Terminal(), {}, False),
    ],
)
def test_who_gets_colours(monkeypatch, color, out, environment, wanted):
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(color, out) is wanted


def test_a_pipe_gets_the_very_text_and_a_terminal_a_safe_one():
    assert painter("never", io.StringIO()) is verbatim
    assert painter("never", Terminal()) is safe
    assert painter("always", io.StringIO()) is coloured


def test_a_models_text_cannot_command_a_terminal():
    nasty = "a\x1b]0;title\x07\x1b[2Jb\x9b31mc\r\x7f\td\né"
    assert safe(nasty, "plain") == "a␛]0;title␇␛[2Jb\ufffd31mc␍␡\td\né"


def test_an_error_cannot_either(cli, tmp_path):
    refused = cli("generate", "the", "-m", "tabular", "--regex", "(" + NASTY)
    assert refused.code == 2
    assert "\x1b" not in refused.err
    assert "␛]0;title␇" in refused.err
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"prompt": "the", "regex": "(" + NASTY}))
    failed = cli("generate", "--input", tmp_path / "prompts.jsonl", "-m", "tabular")
    assert "the first that failed: line 1: " in failed.err
    assert "\x1b" not in failed.err


def test_nor_can_the_facts_of_a_model(monkeypatch):
    for out, shown in ((Terminal(), "licence  ␛]0;title␇\n"), (io.StringIO(), f"licence  {NASTY}\n")):
        monkeypatch.setattr("sys.stdout", out)
        print_facts({"licence": NASTY}, False, str)
        assert out.getvalue() == shown


def test_each_origin_has_its_colour_and_plain_has_none():
    assert coloured("x", "draft") == "\x1b[32mx\x1b[0m"
    assert coloured("x", "plain") == "x"
    assert len({coloured("x", origin) for origin in ("draft", "bonus", "residual", "plain")}) == 4
    assert coloured("", "draft") == ""


def test_the_coloured_text_is_the_text(cli):
    always = ("--speculative-config", '{"adaptive": false}')  # when to draft may depend on the clock
    arguments = ("generate", "the cat", "-m", "tabular", "--seed", 2, "--ignore-eos", "--max-tokens", 30, *always)
    plain, bright = cli(*arguments), cli(*arguments, "--color", "always")
    assert "\x1b[32m" in bright.out
    stripped = bright.out
    for code in ("32", "34", "38;5;208", "0"):
        stripped = stripped.replace(f"\x1b[{code}m", "")
    assert stripped == plain.out
    assert "colours: " in bright.err
    assert "colours: " not in plain.err
