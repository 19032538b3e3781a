"""Flags as other programs call them."""

import pytest

from truedraw.cli.main import command
from truedraw.cli.other_names import THEIRS

MEANT = {
    "--n-predict": "--max-tokens",
    "--num-predict": "--max-tokens",
    "--max-new-tokens": "--max-tokens",
    "--max_new_tokens": "--max-tokens",
    "--temp": "--temperature",
    "--repeat-penalty": "--repetition-penalty",
    "--draft-max": "--spec-tokens",
    "--num-return-sequences": "--n",
}


@pytest.mark.parametrize(("theirs", "ours"), MEANT.items())
def test_a_flag_of_another_program(cli, theirs, ours):
    done = cli("generate", "the", theirs, "5")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"truedraw: error: No such option: {theirs} (did you mean {ours}?)\n"


@pytest.mark.parametrize("flag", ["--prompt", "-p"])
def test_a_prompt_has_no_flag(cli, flag):
    assert cli("generate", flag, "the").err == (
        f"truedraw: error: No such option: {flag} (give PROMPT without a flag)\n"
    )
    assert "PROMPT" not in cli("chat", flag, "the").err


def test_no_flag_is_proposed_that_the_verb_has_not(cli):
    assert cli("models", "list", "--n-predict", "5").err == "truedraw: error: No such option: --n-predict\n"
    assert "(Possible options: --amateur, --temperature)" in cli("generate", "the", "--temperatur", "1").err


def test_every_flag_that_is_proposed_is_one():
    verbs = command().commands
    ours = {name for verb in ("generate", "chat", "bench") for flag in verbs[verb].params for name in flag.opts}
    assert {*THEIRS} - {"--prompt"} <= ours
    assert not {name for names in THEIRS.values() for name in names} & ours


def test_a_file_of_prompts_is_called_as_the_verb_calls_it(cli):
    for verb, theirs, ours in (("generate", "--prompts", "--input"), ("bench", "--input", "--prompts")):
        said = f"truedraw: error: No such option: {theirs} (did you mean {ours}?)\n"
        assert cli(verb, theirs, "p.jsonl").err == said
