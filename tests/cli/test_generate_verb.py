import io
import json
import re
import subprocess
import sys

import pytest

from truedraw import load

TOY = ("-m", "tabular", "--ignore-eos", "--seed", "5")


def toy(**parameters):
    return load("tabular").generate("the cat", seed=5, ignore_eos=True, **parameters)


def test_text_on_stdout_and_statistics_on_stderr(cli):
    done = cli("generate", "the cat", *TOY, "--max-tokens", 20)
    assert done.code == 0
    assert done.out == toy(max_tokens=20).text + "\n"
    assert "2 tokens of prompt, 20 new in" in done.err
    assert "tokens a round" in done.err
    assert cli("generate", "the cat", *TOY, "--no-stats").err == ""


def test_the_text_does_not_depend_on_what_is_drafted(cli):
    texts = {
        cli("generate", "the cat", *TOY, "--max-tokens", 60, *spec).out
        for spec in (
            ("--spec-method", "none"),
            ("--spec-tokens", 1),
            ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4, "adaptive": false}'),
        )
    }
    assert len(texts) == 1


def test_json_is_one_strict_object_with_everything(cli):
    done = cli("generate", "the cat", *TOY, "--max-tokens", 40, "--json", "--spec-tokens", 3)

    def refuse(constant):
        raise AssertionError(constant)

    assert done.out.count("\n") == 1
    result = json.loads(done.out, parse_constant=refuse)
    (choice,) = result["choices"]
    expected = toy(max_tokens=40).choices[0]
    assert (choice["text"], tuple(choice["token_ids"])) == (expected.text, expected.tokens)
    assert len(choice["origins"]) == len(choice["logprobs"]) == len(choice["sampling_logprobs"]) == 40
    assert {*choice["origins"]} <= {"draft", "residual", "bonus", "plain"}
    # At temperature 1 nothing is transformed.
    assert choice["logprobs"] == pytest.approx(choice["sampling_logprobs"])
    assert {*result["stats"]} == {
        "rounds", "drafted", "accepted", "acceptance_rate", "tokens_per_round", "tokens", "seconds",
        "tokens_per_second", "engine_seconds", "draft_seconds", "other_seconds", "forced",
        "draft_rounds", "acceptance_histogram", "tried_by_position", "kept_by_position", "fallbacks",
        "predicted_speedup", "actual_speedup",
    }  # fmt: skip


def test_logprobs_before_and_after_the_transforms_differ_where_something_is_transformed(cli):
    done = cli("generate", "the cat", *TOY, "--max-tokens", 9, "--json", "--temperature", 0)
    choice = json.loads(done.out)["choices"][0]
    assert choice["sampling_logprobs"] == [0.0] * 9
    assert min(choice["logprobs"]) < -0.1


def test_samples_are_listed_in_order_with_their_headers_on_stderr(cli):
    done = cli("generate", "the cat", "-m", "tabular", "--seed", 3, "-n", 4)
    expected = load("tabular").generate("the cat", seed=3, n=4)
    assert done.out == "".join(choice.text + "\n" for choice in expected.choices)
    headers = [line for line in done.err.splitlines() if line.startswith("==>")]
    assert headers[0] == f"==> sample 0, {len(expected.choices[0].tokens)} tokens, stop <=="
    assert len(headers) == 4


def test_what_is_held_back_at_the_end_is_listed(cli):
    stop = f"{toy(max_tokens=8).text[-3:]} never"
    done = cli("generate", "the cat", *TOY, "--max-tokens", 8, "-n", 2, "--stop", stop)
    assert done.out == "".join(choice.text + "\n" for choice in toy(max_tokens=8, n=2).choices)


def test_texts_can_be_split_at_nul(cli):
    done = cli("generate", "the cat", "-m", "tabular", "--seed", 3, "-n", 3, "--null")
    assert done.out.split("\0")[:-1] == [c.text for c in load("tabular").generate("the cat", seed=3, n=3).choices]


def test_a_prompt_from_stdin_loses_one_line_break(cli):
    given = cli("generate", "the dog", *TOY, "--json")
    piped = cli("generate", "-", *TOY, "--json", stdin=b"the dog\n")
    assert json.loads(piped.out)["choices"][0]["token_ids"] == json.loads(given.out)["choices"][0]["token_ids"]
    two = cli("generate", "-", *TOY, "--json", stdin=b"the dog\n\n")
    assert json.loads(two.out)["prompt_tokens"] > json.loads(given.out)["prompt_tokens"]


def test_what_editors_put_around_a_text_is_no_part_of_it(cli, monkeypatch):
    from truedraw.cli.stdin import lines, prompt_text

    def read(data, reader):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return reader()

    for data, text in (
        (b"\xef\xbb\xbfthe dog\r\n", "the dog"),
        (b"the dog\r\nthe cat\r\n\r\n", "the dog\r\nthe cat\r\n"),  # the user's own line breaks stay
        (b"the dog\r", "the dog\r"),
        (b"the \xef\xbb\xbfdog", "the \ufeffdog"),
    ):
        assert read(data, lambda: prompt_text("-")) == text
    assert read(b"\xef\xbb\xbfone\r\n\xef\xbb\xbftwo\n", lambda: list(lines())) == ["one", "\ufefftwo"]


def test_one_token_is_no_plural(cli):
    done = cli("generate", "the", *TOY, "--max-tokens", 1)
    assert "1 token of prompt, 1 new in" in done.err
    assert "1 round, 1.00 tokens a round" in done.err
    assert "sample 0, 1 token, length" in cli("generate", "the", *TOY, "--max-tokens", 1, "-n", 2).err


@pytest.mark.skipif(sys.platform != "linux", reason="start and memory are read from /proc")
def test_start_and_memory_are_printed_with_the_statistics():
    command = [sys.executable, "-m", "truedraw", "generate", "the", *TOY, "--max-tokens", "3"]
    last = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()[-1]
    start, memory = re.fullmatch(r"start (\d+\.\d) s, peak memory (\d+) MB", last).groups()
    assert 0 < float(start) < 300
    assert 30 < int(memory) < 3000


@pytest.mark.parametrize(
    "prompt", ["\N{GRINNING FACE}\u200d\ufe0f", "e\u0301\u0000\u2028", "\u202eמה", "\ud7ff\U0010ffff"]
)
def test_odd_unicode_goes_through(cli, prompt):
    done = cli("generate", "-", *TOY, "--json", "--max-tokens", 4, stdin=prompt.encode())
    assert json.loads(done.out)["stats"]["tokens"] == 4


def test_stops(cli):
    assert " ran" not in cli("generate", "the cat", *TOY, "--stop", " ran", "--max-tokens", 50).out
    done = cli("generate", "the cat", *TOY, "--stop-token-ids", 3, "--stop-token-ids", 4, "--json")
    assert json.loads(done.out)["choices"][0]["token_ids"][-1] in (3, 4)


def test_comparison_is_measured_and_finds_the_same_text(cli):
    done = cli("generate", "the cat", "-m", "tabular", "--ignore-eos", "--max-tokens", 30, "--compare", "--json")
    result = json.loads(done.out)
    assert result["comparison"]["identical_texts"] is True
    assert result["comparison"]["seed"] == result["seed"]  # one was drawn, so that both ways draw the same
    assert "what speculation gained: " in done.err
    assert "all texts are identical, token for token" in done.err


def test_a_comparison_of_rules_that_are_not_coupled_says_that_the_texts_differ(cli):
    rule = '{"rejection_sample_method": "token", "adaptive": false}'
    done = cli("generate", "the cat", *TOY, "--max-tokens", 60, "--compare", "--speculative-config", rule)
    assert "the texts differ" in done.err


def test_chat_needs_a_template(cli):
    done = cli("generate", "the cat", *TOY, "--chat")
    assert (done.code, done.out) == (2, "")
    assert "no chat template" in done.err


def test_every_flag_has_its_twin(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_MODEL", "tabular")
    monkeypatch.setenv("TRUEDRAW_MAX_TOKENS", "7")
    monkeypatch.setenv("TRUEDRAW_IGNORE_EOS", "1")
    monkeypatch.setenv("TRUEDRAW_JSON", "1")
    assert json.loads(cli("generate", "the").out)["stats"]["tokens"] == 7
    assert json.loads(cli("generate", "the", "--max-tokens", 3).out)["stats"]["tokens"] == 3
    monkeypatch.setenv("TRUEDRAW_STOP", "never said\n sat")
    stopped = json.loads(cli("generate", "the cat", "--max-tokens", 99, "--seed", 1).out)["choices"][0]
    assert stopped["finish_reason"] == "stop"
    assert " sat" not in stopped["text"]


def test_values_in_the_environment_are_cut_at_line_breaks_alone(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_SCHEDULE", "temperature=0:1, 2:0.5\r\ntop_p=0:1, 9:0.9\n")
    monkeypatch.setenv("TRUEDRAW_STOP", "never\u2028 sat\n\f")
    done = cli("generate", "the cat", *TOY, "--max-tokens", 99, "--seed", 1)
    assert (done.code, " sat" in done.out) == (0, True), done.err


def test_the_best_of_more_come_last_and_the_likeliest_first(cli):
    found = toy(n=2, best_of=9, max_tokens=12)
    done = cli("generate", "the cat", *TOY, "--max-tokens", 12, "-n", 2, "--best-of", 9, "--null")
    assert done.out == "".join(choice.text + "\0" for choice in found.choices)
    one = cli("generate", "the cat", *TOY, "--max-tokens", 12, "--best-of", 9)
    assert one.out == found.text + "\n"
    assert "108 new in 9 samples (1 of them kept) in " in one.err
    assert "108 new in 9 samples (2 of them kept) in " in done.err
    told = json.loads(cli("generate", "the cat", *TOY, "--max-tokens", 12, "--best-of", 9, "--json").out)
    assert (told["dropped"], told["stats"]["tokens"]) == (8, 108)
    assert "dropped" not in toy(n=2, best_of=2, max_tokens=1).to_dict()
