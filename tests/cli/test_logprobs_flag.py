"""--logprobs: in every JSON that holds tokens, and refused where nothing would show them."""

from __future__ import annotations

import json

import pytest

from truedraw import load

TOY = ("-m", "tabular", "--max-tokens", 6, "--ignore-eos")
SETTINGS = {"seed": 2, "max_tokens": 6, "ignore_eos": True}


def expected(prompt: str, count: int, **more) -> list:
    with load("tabular") as model:
        result = model.generate(prompt, logprobs=count, **SETTINGS, **more)
    return [choice.to_dict()["top_logprobs"] for choice in result.choices]


def test_generate_tells_them(cli) -> None:
    found = json.loads(cli("generate", "the cat", *TOY, "--seed", 2, "-n", 2, "--logprobs", 3, "--json").out)
    tops = [choice["top_logprobs"] for choice in found["choices"]]
    assert tops == expected("the cat", 3, n=2)
    assert [len(top) for top in tops] == [6, 6]
    assert tops[0][0][0] == {"token_id": 3, "text": " sat", "logprob": pytest.approx(-0.5108256237659907)}
    none = json.loads(cli("generate", "the cat", *TOY, "--logprobs", 0, "--json").out)
    assert none["choices"][0]["top_logprobs"] == [[]] * 6
    assert "top_logprobs" not in cli("generate", "the cat", *TOY, "--json").out


def test_by_the_environment(cli, monkeypatch) -> None:
    monkeypatch.setenv("TRUEDRAW_LOGPROBS", "1")
    found = json.loads(cli("generate", "the cat", *TOY, "--seed", 2, "--json").out)
    assert [found["choices"][0]["top_logprobs"]] == expected("the cat", 1)


def test_lines_of_prompts_have_their_own(cli, tmp_path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [{"prompt": "the cat", "seed": 2}, {"prompt": "the cat", "seed": 2, "logprobs": 1},
             {"prompt": "the", "logprobs": 21}]  # fmt: skip
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli("generate", *TOY, "--input", source, "--output", out, "--logprobs", 2).code == 0
    found = {record["line"]: record for record in map(json.loads, out.read_text().splitlines())}
    assert [found[1]["choices"][0]["top_logprobs"]] == expected("the cat", 2)
    assert [found[2]["choices"][0]["top_logprobs"]] == expected("the cat", 1)
    assert found[3]["error"]["param"] == "logprobs"


def test_samples_of_a_sweep_have_them(cli, tmp_path) -> None:
    table = tmp_path / "out.parquet"
    pytest.importorskip("pyarrow")
    out = tmp_path / "out.jsonl"
    asked = ("sweep", "the cat", *TOY, "--temperature", "0.5,1", "-n", 2, "--logprobs", 2)
    assert cli(*asked, "--output", out, "--parquet", table).code == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert all([len(top) for top in record["top_logprobs"]] == [len(top[:2]) for top in record["top_logprobs"]]
               and len(record["top_logprobs"]) == 6 for record in records)  # fmt: skip
    from pyarrow.parquet import read_table

    column = read_table(table).column("top_logprobs").to_pylist()
    assert [[[{**each, "bytes": None} for each in top] for top in r["top_logprobs"]] for r in records] == column


@pytest.mark.parametrize("value", ["21", "-1", "1.5", "true", "nan"])
def test_what_is_no_number_of_tokens_is_refused(cli, value: str) -> None:
    done = cli("generate", "the cat", *TOY, "--json", "--logprobs", value)
    assert (done.code, done.out) == (2, "")
    assert "logprobs" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "verb",
    [
        ("generate", "the cat"),
        ("chat",),
        ("check", "--quick"),
        ("train", "eval", "--spec-method", "ngram-lm"),
        ("bench",),
        ("bench", "many"),
        ("tune",),
    ],
)
def test_where_nothing_shows_them_they_are_refused(cli, verb) -> None:
    done = cli(*verb, "-m", "tabular", "--logprobs", 3)
    assert done.code == 2
    assert "--logprobs" in done.err
