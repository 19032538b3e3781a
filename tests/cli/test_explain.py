"""--explain: the words and the numbers agree with the statistics of the run."""

import json

import pytest

from truedraw.cli.explaining import widths

TOY = ("-m", "tabular", "--max-tokens", 120, "--ignore-eos", "--seed", 3)


def test_the_object_agrees_with_the_statistics(cli):
    done = cli("generate", "the cat", *TOY, "--json", "--explain", "--spec-method", "ngram")
    assert done.code == 0
    found = json.loads(done.out)
    why, stats = found["explain"], found["stats"]
    assert (why["method"], why["chosen"]) == ("ngram", True)
    assert why["draft_rounds"] == stats["draft_rounds"]
    assert why["rounds"] == stats["rounds"]
    assert why["rounds"] == why["draft_rounds"] + sum(each["rounds"] for each in why["plain"])
    use = why["drafters"]["ngram"]
    assert (use["drafted"], use["accepted"]) == (stats["drafted"], stats["accepted"])
    assert (why["predicted_speedup"], why["actual_speedup"]) == (stats["predicted_speedup"], stats["actual_speedup"])
    assert stats["predicted_speedup"] > 0
    assert stats["actual_speedup"] > 0
    assert "why:" not in done.err


def test_in_words_on_stderr(cli):
    plain = cli("generate", "the cat", *TOY)
    done = cli("generate", "the cat", *TOY, "--explain", "--no-stats")
    assert done.out == plain.out
    assert "why:" not in plain.err
    lines = done.err.splitlines()
    assert lines[0].startswith("why: ")
    assert "speed-up over plain: " in lines[1]
    assert "predicted" in lines[1]
    assert "actual" in lines[1]
    assert any("expected to be kept" in line for line in lines)
    assert any(line.startswith("  plain in ") and "to measure" in line for line in lines)
    assert any("tokens a round expected at" in line for line in lines)


def test_the_rounds_of_all_widths_add_up():
    same = dict.fromkeys(("expected_tokens_per_round", "tokens_per_round", "expected_passes", "passes"), 1.0)
    found = [{"texts": 1, "draft_rows": rows, "rounds": rows + 1, **same} for rows in range(6)]
    *shown, others = widths({"widths": found})
    assert [line.partition(":")[0].rpartition(", ")[2] for line in shown] == [f"{n} rounds" for n in (6, 5, 4, 3)]
    assert others == "other widths: 3 rounds"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--spec-method", "none"), "plain sampling was asked for"),
        (("--spec-tokens", 0), "plain sampling was asked for"),
        (("--speculative-config", '{"method": "ngram", "adaptive": false, "num_speculative_tokens": 4}'), "drafts 4"),
    ],
)
def test_where_nothing_was_chosen(cli, flags, words):
    done = cli("generate", "the cat", *TOY, "--explain", *flags)
    assert "why: nothing was chosen; " in done.err
    assert words in done.err
    found = json.loads(cli("generate", "the cat", *TOY, "--explain", "--json", *flags).out)
    assert found["explain"]["chosen"] is False
    assert found["stats"]["predicted_speedup"] is None


def test_bench_explains_all_its_runs(cli):
    flags = ("-m", "tabular", "--max-tokens", 20, "--ignore-eos", "--limit", 3, "--repeats", 2)
    done = cli("bench", *flags, "--explain", "--json")
    found = json.loads(done.out)["explain"]
    assert found["method"] == "auto"
    assert sum(use["accepted"] for use in found["drafters"].values()) <= 6 * 20
    assert found["rounds"] > 3 * 2
    assert "why: " in cli("bench", *flags, "--explain").err
    assert "explain" not in json.loads(cli("bench", *flags, "--json").out)


def test_many_prompts_have_no_one_explanation(cli, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"prompt": "the cat"}\n')
    done = cli("generate", "-m", "tabular", "--input", path, "--explain")
    assert done.code == 2
    assert "--explain" in done.err
