"""Grammars, schemas and amateurs on the command line."""

import json
import re

import pytest

TOY = ("generate", "the", "-m", "tabular", "--no-stats", "--seed", "3")
REGEX = "( cat| dog|the){2}( sat ran|the)"
SENTENCE = """# an animal and what it did
start: animal~2 end
animal: " cat" | " dog" | "the"
end: " sat ran" | "the"
"""


@pytest.mark.parametrize("suffix", [".lark", ""])
def test_a_grammar_may_be_written_out_or_in_a_file(cli, tmp_path, suffix):
    file = tmp_path / f"grämmar{suffix}"
    file.write_text("\ufeff" + SENTENCE, encoding="utf-8")
    texts = {cli(*TOY, *given).out for given in (("--grammar", SENTENCE), ("--grammar", file), ("--regex", REGEX))}
    assert len(texts) == 1
    assert re.fullmatch(REGEX, texts.pop().removesuffix("\n"))


def test_a_schema_may_be_written_out_or_in_a_file(cli, tmp_path, monkeypatch):
    schema = json.dumps({"enum": [1]})
    (tmp_path / "schema.json").write_text(schema)
    monkeypatch.chdir(tmp_path)
    for given in (schema, "schema.json"):
        done = cli(*TOY, "--json-schema", given)
        assert done.code == 2  # the toy has no digits
        assert "json_schema: no text can satisfy it" in done.err


def test_forced_tokens_are_told_apart(cli):
    done = cli(*TOY[:-3], "--seed", "3", "--regex", " cat sat ran", "--color", "always")
    assert "\x1b[35m" in done.out
    assert "4 tokens forced" in done.err or "3 tokens forced" in done.err
    choice = json.loads(cli(*TOY, "--regex", " cat sat ran", "--json").out)["choices"][0]
    assert choice["text"] == " cat sat ran"
    assert choice["origins"].count("forced") == choice["stats"]["forced"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--grammar", "no_such_file.lark"], ["--grammar", "no_such_file.lark"]),
        (["--grammar", "start: ("], ["grammar", "does not compile"]),
        (["--grammar", "x" * 5000], ["--grammar", "no file"]),
        (["--json-schema", "no_such_file.json"], ["--json-schema", "no_such_file.json"]),
        (["--json-schema", '{"type": "wibble"}'], ["json_schema", "wibble"]),
        (["--json-schema", "{"], ["json_schema", "not JSON"]),
        (["--regex", "a("], ["regex", "unclosed group"]),
        (["--regex", "a", "--grammar", 'start: "a"'], ["regex", "grammar is given too"]),
        (["--regex", " cat", "--ignore-eos"], ["ignore_eos", "regex"]),
        (["--contrastive-alpha", "0.1"], ["contrastive_alpha", "amateur"]),
        (["--amateur", "tabular", "--contrastive-beta", "-1"], ["contrastive_beta", "-1"]),
        (["--amateur", "nobody"], ["nobody"]),
    ],
)
def test_bad_use_is_one_line(cli, arguments, words):
    done = cli(*TOY, *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert all(word in line for word in words), line


def test_a_grammar_that_is_no_text_is_refused(cli, tmp_path):
    file = tmp_path / "bad.lark"
    file.write_bytes(b"start: \xff\xfe")
    done = cli(*TOY, "--grammar", file)
    assert done.code == 2
    assert "UTF-8" in done.err


def test_an_amateur_changes_what_is_drawn(cli):
    contrasted = cli(*TOY, "--amateur", "tabular", "--contrastive-alpha", "0.01", "--contrastive-beta", "0.3", "--json")
    assert contrasted.code == 0
    assert json.loads(contrasted.out)["choices"][0]["text"]


def test_a_long_schema_is_no_file_name(cli):
    schema = json.dumps({"enum": ["x" * 50] * 9 + [1]})
    done = cli(*TOY, "--json-schema", schema)
    assert done.code == 2
    assert "json_schema" in done.err
    assert done.err.count("\n") == 1
