import json

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


def test_texts_can_be_split_at_nul(cli):
    done = cli("generate", "the cat", "-m", "tabular", "--seed", 3, "-n", 3, "--null")
    assert done.out.split("\0")[:-1] == [c.text for c in load("tabular").generate("the cat", seed=3, n=3).choices]


def test_a_prompt_from_stdin_loses_one_line_break(cli):
    given = cli("generate", "the dog", *TOY, "--json")
    piped = cli("generate", "-", *TOY, "--json", stdin=b"the dog\n")
    assert json.loads(piped.out)["choices"][0]["token_ids"] == json.loads(given.out)["choices"][0]["token_ids"]
    two = cli("generate", "-", *TOY, "--json", stdin=b"the dog\n\n")
    assert json.loads(two.out)["prompt_tokens"] > json.loads(given.out)["prompt_tokens"]


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
