import json

import numpy as np
import pytest

from truedraw.cli.statistics import UNKNOWN
from truedraw.draft.head.card import Card
from truedraw.draft.head.file import write_head

TOY = ("train", "eval", "-m", "tabular", "--max-tokens", 12, "--ignore-eos")
COUNTS = ("--spec-method", "ngram-lm")


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "the cat", "category": "cats"}\n{"prompt": "the dog", "category": "dogs"}\n')
    return path


@pytest.fixture
def head(tmp_path):
    path = tmp_path / "head.safetensors"
    card = Card("recurrent", "another", "a" * 16, 6, 4, (0,), 3)
    matrices = {"input": (4, 8), "token": (4, 4), "up": (6, 8), "down": (4, 3), "output": (4, 4)}
    write_head(path, card, np.arange(3), {name: np.ones(shape, np.float32) for name, shape in matrices.items()},
               {"gain": np.ones(4, np.float32)})  # fmt: skip
    return path


def test_tables_for_people_and_one_object_last(cli, prompts):
    done = cli(*TOY, *COUNTS, "--prompts", prompts, "--temperature", "1,0", "--seed", 3)
    assert done.code == 0
    found = json.loads(done.out.splitlines()[-1])
    assert (found["model"], found["head"], found["prompts"], found["complete"]) == ("tabular", None, 2, True)
    assert [section["temperature"] for section in found["temperatures"]] == [1.0, 0.0]
    assert (found["sampling"]["seed"], found["sampling"]["max_tokens"]) == (3, 12)
    assert "temperature" not in found["sampling"]
    section = found["temperatures"][0]
    assert (section["texts"], section["places"], {*section["by_category"]}) == (2, 22, {"cats", "dogs"})
    assert {*section["measured"]} == {"ngram-lm", "auto"}
    of_cats = section["by_category"]["cats"]
    assert (of_cats["texts"], len(of_cats["tokens_per_round"]["p/q"]["chain"])) == (1, 6)
    assert found["prompts_from"] == "prompts.jsonl"
    for said in (
        "    p/q, cats",
        "T = 1, 22 places in 2 texts",
        "T = 0, ",
        "p/q, dogs",
        "drafts in a tree",
        "measured speed-up, auto",
    ):
        assert said in done.err


def test_what_never_drafts_has_no_figures(cli, prompts):
    never = json.dumps({"method": "ngram-lm", "draft_stop_below": 1.0})
    done = cli(*TOY, "--speculative-config", never, "--prompts", prompts, "--repeats", 0, "-t", 1)
    assert done.code == 0
    (section,) = json.loads(done.out.splitlines()[-1])["temperatures"]
    assert section["candidates"] == {rule: [None] * 4 for rule in ("p/q", "coupled")}
    assert section["tokens_per_round"]["p/q"]["chain"] == [None] * 6
    assert section["by_category"]["cats"]["tokens_per_round"]["coupled"]["tree"] == [None] * 12
    shown = {line[:34].strip(): line[34:].split() for line in done.err.splitlines()}
    assert shown["candidate at a place, all depths"] == ["1", "2", "3", "4"]
    assert shown["kept, p/q"] == [UNKNOWN] * 4
    assert shown["tokens a round, coupled"] == [UNKNOWN] * 12


def test_acceptance_alone_and_quietly(cli, prompts):
    done = cli(*TOY, *COUNTS, "--prompts", prompts, "--limit", 1, "--repeats", 0, "--json", "-t", 0.7)
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert [section["measured"] for section in found["temperatures"]] == [{}]
    assert found["speculation"]["method"] == "ngram-lm"


def test_an_amateur_drafts_where_no_other_model_is_named(cli, prompts):
    amateur = ("--amateur", "tabular", "--spec-method", "model")
    done = cli(*TOY, *amateur, "--prompts", prompts, "--repeats", 0, "--json", "-t", 1)
    assert done.code == 0, done.err
    assert json.loads(done.out)["speculation"]["method"] == "model"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "such a draft reads hidden states"),
        (("--spec-method", "ngram"), "ngram hands over certain tokens"),
        (("--spec-method", "auto"), "--spec-method: auto is several drafters"),
        ((*COUNTS, "--temperature", "1,warm"), "--temperature: got '1,warm'"),
        ((*COUNTS, "--temperature", "-1"), "temperature: "),
        ((*COUNTS, "--write-card", "x.safetensors"), "--write-card: ngram-lm has no card"),
        (("--speculative-config", '{"head_path": 5}', "--write-card", "x.safetensors"), "head_path: got 5"),
        (("one.safetensors", "--write-card", "."), "--write-card . is there already"),
        (("one.safetensors", "--write-card", "gone/x.safetensors"), "cannot be written: give a file in a folder"),
        ((*COUNTS, "--max-tokens", 1), "no text came to two tokens"),
        (("gone.safetensors", *COUNTS), "HEAD: ngram-lm drafts without a head"),
        (("one.safetensors", "--draft", "two.safetensors"), "HEAD: one.safetensors is a draft, and so is --draft two"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(cli, prompts, arguments, said):
    done = cli(*TOY, "--prompts", prompts, "--repeats", 0, *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_files_that_are_no_prompts_and_heads_of_other_models(cli, tmp_path, prompts, head):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    for arguments, said in (
        ((*COUNTS, "--prompts", empty), "holds no prompt"),
        ((*COUNTS, "--prompts", tmp_path / "none"), "cannot be read"),
        ((head, "--prompts", prompts), "draft: "),
        ((empty, "--prompts", prompts), "draft: "),
    ):
        done = cli(*TOY, "--repeats", 0, *arguments)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert len(done.err.splitlines()) == 1


def test_ctrl_c_tells_the_temperatures_so_far(cli, prompts, monkeypatch):
    from truedraw.bench.draft_eval import report

    def interrupted(plan, params, done, evaluated=report.evaluated):
        if params.temperature == 0:
            raise KeyboardInterrupt
        return evaluated(plan, params, done)

    monkeypatch.setattr(report, "evaluated", interrupted)
    done = cli(*TOY, *COUNTS, "--prompts", prompts, "--repeats", 0, "--json")
    found = json.loads(done.out)
    assert (done.code, found["complete"]) == (130, False)
    assert [section["temperature"] for section in found["temperatures"]] == [1.0, 0.7]


@pytest.mark.slow
@pytest.mark.model
def test_a_head_of_another_model_is_refused(cli, prompts, head):
    done = cli("train", "eval", head, "--prompts", prompts, "--repeats", 0, "--max-tokens", 4)
    assert (done.code, done.out) == (2, "")
    assert "another" in done.err
