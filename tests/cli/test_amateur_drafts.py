"""An amateur that drafts, on the command line."""

import json

import pytest

TOY = ("generate", "the cat", "-m", "tabular", "--seed", "4", "--max-tokens", "30", "--ignore-eos", "--json")
AMATEUR = ("--amateur", "tabular", "--contrastive-beta", "0.3")
OFTEN = ("--speculative-config", json.dumps({"num_speculative_tokens": 3, "adaptive": False}))


def found(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("named", [(), ("--spec-model", "tabular")])
def test_it_needs_no_second_name_and_changes_no_text(cli, named):
    fast = found(cli(*TOY, *AMATEUR, *OFTEN, "--spec-method", "model", *named))
    plain = found(cli(*TOY, *AMATEUR, "--spec-method", "none"))
    assert fast["choices"][0]["text"] == plain["choices"][0]["text"]
    assert fast["stats"]["accepted"] > 0


def test_without_one_a_model_has_to_be_named(cli):
    done = cli(*TOY, "--spec-method", "model")
    assert done.code == 2
    assert "--spec-model" in done.err


def test_it_is_no_head(cli):
    done = cli(*TOY, *AMATEUR, "--draft", "tabular")
    assert done.code == 2
    assert 'the method "model"' in done.err


def test_many_prompts_read_from_a_file(cli, tmp_path):
    lines = tmp_path / "prompts.jsonl"
    lines.write_text('{"prompt": "the cat"}\n{"prompt": "the", "speculative": "model"}\n')
    flags = ("-m", "tabular", "--seed", "4", "--max-tokens", "9", *AMATEUR, *OFTEN, "--spec-method", "model")
    done = cli("generate", "--input", lines, "--output", tmp_path / "found.jsonl", *flags)
    assert done.code == 0, done.err
    results = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert len(results) == 2
    assert not any("error" in each and each["error"] for each in results)
