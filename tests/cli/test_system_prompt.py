"""A system prompt before the question of generate and sweep."""

import json

import pytest

from truedraw.generate.model import Model

TOY = ("-m", "tabular", "--max-tokens", 2, "--no-stats")
SYSTEM, QUESTION = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "the"}


@pytest.fixture
def asked(monkeypatch):
    """What was put into the template."""
    found = []
    monkeypatch.setattr(Model, "chat_prompt", lambda model, messages: found.append(messages) or [0])
    return found


def test_of_one_prompt_and_of_a_sweep(cli, asked):
    for verb in (("generate", "the"), ("sweep", "the", "-t", 1, "-n", 1)):
        assert cli(*verb, *TOY, "--chat", "--system", "Be brief.").code == 0
        assert cli(*verb, *TOY, "--chat").code == 0
        assert asked[-2:] == [[SYSTEM, QUESTION], [QUESTION]]


def test_of_many_prompts_which_go_on_with_the_same_one_alone(cli, asked, tmp_path):
    source, out = tmp_path / "prompts.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps({"prompt": "the"}) + "\n")
    run = ("generate", *TOY, "--seed", 1, "--input", source, "--output", out, "--chat")
    assert cli(*run, "--system", "Be brief.").code == 0
    assert asked == [[SYSTEM, QUESTION]]
    refused = cli(*run)
    assert (refused.code, "system" in refused.err) == (2, True)
    assert cli(*run, "--system", "Be brief.").code == 0


def test_it_goes_with_a_question(cli, asked, monkeypatch):
    for verb in (("generate", "the"), ("generate", "--input", "none"), ("sweep", "the", "-t", 1, "-n", 1)):
        refused = cli(*verb, *TOY, "--system", "Be brief.")
        assert refused.err == "truedraw: error: --system: stands before a question; give --chat, too\n"
    monkeypatch.setenv("TRUEDRAW_SYSTEM", "Be brief.")  # of conversations, as far as this run knows
    assert cli("generate", "the", *TOY).code == 0
    assert not asked


def test_it_is_utf8(cli, asked):
    done = cli("generate", "the", *TOY, "--chat", "--system", b"caf\xe9".decode(errors="surrogateescape"))
    assert (done.code, "--system is not UTF-8" in done.err) == (2, True)


def test_an_error_says_where_it_stands(cli, asked, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_SYSTEM", b"caf\xe9".decode(errors="surrogateescape"))
    for verb in (("generate", "the", "--chat"), ("chat",)):
        assert cli(*verb, *TOY).err.rstrip().endswith("(from TRUEDRAW_SYSTEM)")
