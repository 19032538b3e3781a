import json
from itertools import islice

import pytest

import truedraw.bench.pairs
from truedraw.errors import OutOfPages

FAST = ("-m", "tabular", "--max-tokens", 12, "--ignore-eos")


def test_the_last_line_is_one_object(cli, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(
        '{"prompt": "the cat", "category": "cats"}\n'
        '{"turns": ["the dog", "and?"], "category": "dogs"}\n'
        '{"prompt": "the dog sat", "category": "dogs"}\n'
    )
    done = cli("bench", *FAST, "--prompts", prompts, "--repeats", 2, "--batch-sizes", "2,4")
    assert done.code == 0
    found = json.loads(done.out.splitlines()[-1])
    assert {*found["speedup"]} == {"median", "low", "high"}
    assert found["speedup"]["low"] <= found["speedup"]["median"] <= found["speedup"]["high"]
    assert {name: section["prompts"] for name, section in found["by_category"].items()} == {"cats": 1, "dogs": 2}
    assert found["identical_texts"] == {"count": 6, "of": 6}
    assert [speed["n"] for speed in found["batch"]] == [1, 2, 4]
    assert (found["sampling"]["seed"], found["sampling"]["max_tokens"]) == (0, 12)
    assert (found["model"], found["complete"], found["repeats"]) == ("tabular", True, 2)
    assert {"cpu", "versions", "overhead_fraction"} <= {*found}
    assert [found[name] for name in ("numerics", "weights", "threads", "invariant")] == [None] * 4  # a table has none
    assert "2 dogs" in done.err
    assert "4 at once" in done.err


def test_without_a_seed_it_measures_what_generate_does_without_one(cli, monkeypatch):
    done = cli("bench", *FAST, "--limit", 2, "--temperature", 1, "--no-seed")
    found = json.loads(done.out)
    assert (found["sampling"]["seed"], found["identical_texts"]) == (None, None)
    assert "/2" not in done.err
    both = cli("bench", *FAST, "--seed", 5, "--no-seed")
    assert both.code == 2
    assert "--no-seed contradicts --seed 5" in " ".join(both.err.split()).replace(":", "")
    for name, flags, seed in (("TRUEDRAW_SEED", ("--no-seed",), None), ("TRUEDRAW_NO_SEED", ("--seed", 3), 3)):
        monkeypatch.setenv(name, "1")
        assert json.loads(cli("bench", *FAST, "--limit", 1, "--json", *flags).out)["sampling"]["seed"] == seed
        monkeypatch.delenv(name)


@pytest.mark.parametrize("category", ["[/x]", "[red]x", "a[b]c", ":smile:", "[link=x]"])
def test_a_category_is_shown_as_it_is(cli, tmp_path, category):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"prompt": "the cat", "category": category}))
    done = cli("bench", *FAST, "--prompts", prompts)
    assert (done.code, list(json.loads(done.out)["by_category"])) == (0, [category])
    assert f"1 {category} " in done.err


def test_a_long_category_takes_no_room_from_the_figures(cli, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"prompt": "the cat", "category": "questions about long texts " * 4}))
    done = cli("bench", *FAST, "--prompts", prompts)
    assert all(name in done.err for name in ("speed-up", "95 %", "tokens/s", "a round", "accepted", "same", "1/1"))
    assert "…" not in done.err


def test_batches_are_drawn_without_choosing_the_best(cli):
    done = cli("bench", *FAST, "--limit", 1, "--json", "--best-of", 3, "--batch-sizes", "4")
    assert done.code == 0, done.err
    assert [speed["n"] for speed in json.loads(done.out)["batch"]] == [1, 4]


@pytest.mark.parametrize(("given", "why"), [(("--regex", "[a-z]+"), "regex ends texts"), ((), "got 70000")])
def test_batches_that_cannot_be_drawn_are_refused_at_once(cli, monkeypatch, given, why):
    monkeypatch.setattr("truedraw.generate.loading.load", None)
    done = cli("bench", *given, "--batch-sizes", "2" if given else "70000")
    assert done.code == 2
    assert why in done.err
    assert done.err.startswith("truedraw: error: --batch-sizes:")


def test_json_alone_is_quiet(cli):
    done = cli("bench", *FAST, "--limit", 1, "--json")
    assert done.err == ""
    assert json.loads(done.out)["prompts"] == 1


def test_flags_reach_the_measurement(cli):
    done = cli(
        "bench", *FAST, "--limit", 2, "--json", "--spec-method", "none", "--temperature", 0.5, "-n", 2, "--seed", 9
    )
    found = json.loads(done.out)
    assert found["acceptance_rate"] is None
    assert (found["sampling"]["temperature"], found["sampling"]["n"], found["sampling"]["seed"]) == (0.5, 2, 9)
    assert found["speculation"]["method"] == "none"
    assert found["tokens_per_round"] == 1.0


@pytest.mark.parametrize("flags", [("--batch-sizes", "2"), ()])
def test_an_error_keeps_the_pairs_before_it(cli, monkeypatch, flags):
    def failing(*_):
        if not flags:
            yield from islice(pairs(*_), 1)
        raise OutOfPages("no page is free")

    pairs = truedraw.bench.pairs.pairs
    where = "truedraw.bench.batch.batch_speeds" if flags else "truedraw.bench.pairs.pairs"
    monkeypatch.setattr(where, failing)
    done = cli("bench", *FAST, "--limit", 2, "--json", *flags)
    found = json.loads(done.out)
    assert (done.code, found["complete"], found["prompts"]) == (2, False, 2 if flags else 1)
    assert "error: no page is free" in done.err


def test_an_interruption_of_the_batches_keeps_the_pairs(cli, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("truedraw.bench.batch.batch_speeds", interrupted)
    done = cli("bench", *FAST, "--limit", 2, "--json", "--batch-sizes", "2")
    found = json.loads(done.out)
    assert (done.code, found["complete"], found["prompts"], found["batch"]) == (130, False, 2, [])
