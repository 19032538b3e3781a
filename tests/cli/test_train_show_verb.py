"""truedraw train show: cards of heads old and new, and of files that are none."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from truedraw.distill.outlook import outlook
from truedraw.draft.head.card import Card
from truedraw.draft.head.file import HeadFile, read_card, write_arrays, write_head
from truedraw.draft.head.noting import note
from truedraw.errors import BadFile

LOOKS = [
    {"tokens": 1000 * i, "step": i, "rows": 9, "acceptance": [0.3 + i / 100] * 4, "tokens_a_round": 1.2 + i / 100}
    for i in range(40)
]
HELD_OUT = {"1": {"acceptance": [0.5, 0.4, 0.3, 0.2], "tokens_a_round": 1.6, "rows": 9}}


def interval(mean):
    return {"mean": mean, "low": mean - 0.02, "high": mean + 0.02}


def section(level):
    """As bench.draft_eval.figures keeps one."""
    return {"texts": 3, "places": 90, "acceptance": [interval(level)] * 6, "by_category": {},
            "tokens_per_round": {"chain": [interval(1 + level)] * 6, "tree": [interval(1 + level)] * 12},
            "predicted_speedup": {},
            "measured_speedup": {"head": {"median": 1.25, "low": 1.2, "high": 1.3}}}  # fmt: skip


EVALUATED = {"spec.jsonl": {"prompts": 3, "max_tokens": 128, "seed": 0, "numerics": "invariant", "temperatures": {
    "1": {**section(0.4), "by_category": {"code": section(0.2), "prose": section(0.5)}}}}}  # fmt: skip
WHOLE = {"model": "none", "texts": 30, "tokens": 4000, "held_out_tokens": 100, "source": "its own texts", "seed": 7,
         "temperatures": [1.0, 0.7, 1.0], "loss": "lk", "steps": 40, "trained_tokens": 81000, "held_out": HELD_OUT,
         "seconds": {"texts": 5.0, "features": 1.0, "training": 9.0}, "looks": LOOKS,
         "outlook": outlook(LOOKS)}  # fmt: skip


@pytest.fixture
def head(tmp_path):
    """head(training) -> a file."""

    def made(training):
        path = tmp_path / "head.safetensors"
        card = Card("recurrent", "another", "a" * 16, 6, 4, (0,), 3, training=training)
        matrices = {"input": (4, 8), "token": (4, 4), "up": (6, 8), "down": (4, 3), "output": (4, 4)}
        numbers = np.random.default_rng(0)
        write_head(path, card, np.arange(3), {name: numbers.normal(size=shape).astype(np.float32)
                   for name, shape in matrices.items()}, {"gain": np.ones(4, np.float32)})  # fmt: skip
        return path

    return made


def test_everything_that_a_card_has_is_told(cli, head):
    path = head(WHOLE)
    note(path, path, {"evaluated": EVALUATED})
    done = cli("train", "show", path)
    assert (done.code, done.err) == (0, "")
    for said in (
        "a recurrent head for another",
        "reads layers 0 and the final state; drafts 3 of 6 tokens",
        "data: 4,000 tokens of 30 texts, its own texts, at T = 1, 0.7, 1 in turn, 100 tokens held out",
        "loss lk, 40 steps, 81,000 tokens with repetitions, seed 7 (texts 5 s, features 1 s, training 9 s)",
        "held-out text, kept by position",
        "  39,000 ",
        "Extrapolated, not measured: at 390,000 tokens",
        "spec.jsonl: 3 prompts, 128 tokens at most, seed 0",
        "    code ",
        "measured speed-up, head 1.25",
        "where it fails:",
        "  spec.jsonl: code, T = 1: 0.200 (0.180 to 0.220) of first drafts kept, 0.400 over all",
    ):
        assert said in done.out
    assert "prose, T = 1" not in done.out
    assert max(map(len, done.out.splitlines())) < 330
    assert done.out.count("\n") < 60


def test_as_json(cli, head):
    found = json.loads(cli("train", "show", head(WHOLE), "--json").out)
    assert found["training"] == WHOLE
    assert found["target"] == "another"


def test_the_head_that_comes_with_the_default_model(cli):
    done = cli("train", "show")
    assert done.code == 0
    assert "smollm2-135m" in done.out.splitlines()[0]
    assert "tokens" in done.out


def test_a_card_of_few_words(cli, head):
    done = cli("train", "show", head({}))
    assert done.code == 0
    assert "where it fails:" in done.out
    assert "held-out" not in done.out


@pytest.mark.parametrize(
    "training",
    [
        {"held_out": 3},
        {"looks": [{}]},
        {"evaluated": {"x": {}}},
        {"outlook": {}},
        {**WHOLE, "seconds": {"texts": 10**400, "features": 1.0, "training": 1.0}},
    ],
)
def test_a_card_that_says_nonsense(cli, head, training):
    done = cli("train", "show", head(training))
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert "has a card that says nonsense" in line


def test_what_is_no_head(cli, tmp_path, head):
    other = tmp_path / "text.safetensors"
    other.write_text("no head")
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(head(WHOLE).read_bytes()[:200])
    for path in (other, cut, tmp_path / "none.safetensors"):
        done = cli("train", "show", path)
        assert (done.code, done.out) == (2, "")
        assert "cannot be read as a draft head" in done.err


@pytest.mark.parametrize(
    ("kind", "name"), [("truedraw eagle draft", "eagle3"), ("truedraw draft model", "transformer")]
)
def test_a_draft_that_is_a_folder(cli, tmp_path, kind, name):
    card = {
        "format": kind,
        "tokenizer": "a" * 16,
        "vocab_size": 6,
        "training": {**WHOLE, "kind": name, "model": "tiny"},
    }
    (tmp_path / "training.json").write_text(json.dumps(card))
    done = cli("train", "show", tmp_path)
    assert (done.code, done.err) == (0, "")
    for said in (f"{tmp_path}: a draft of the kind {name} for tiny, 0.0 MB", "data: 4,000 tokens", "held-out text",
                 "  39,000 ", "Extrapolated, not measured"):  # fmt: skip
        assert said in done.out
    assert json.loads(cli("train", "show", tmp_path, "--json").out)["training"] == card["training"]
    (tmp_path / "training.json").write_text(json.dumps({"format": kind, "training": 3}))
    assert "has a card that says nonsense" in cli("train", "show", tmp_path).err
    (tmp_path / "training.json").write_text(json.dumps({"format": kind, "training": {"final_loss": float("inf")}}))
    done = cli("train", "show", tmp_path, "--json")
    assert (done.code, done.out) == (2, "")
    assert "has a card that says nonsense" in done.err
    (tmp_path / "training.json").write_text('{"format": "another"}')
    assert "cannot be read as a draft head: it is a folder" in cli("train", "show", tmp_path).err


def test_a_card_without_its_numbers(cli, tmp_path, head):
    bare = tmp_path / "bare.safetensors"
    write_arrays(bare, read_card(head(WHOLE)), {})
    done = cli("train", "show", bare)
    assert (done.code, done.out) == (2, "")
    assert "bare.safetensors lacks tokens; fetch or train it again" in done.err


def test_what_is_no_file(cli, tmp_path):
    for path, said in ((tmp_path, "a folder"), ("/dev/null", "no regular file")):
        done = cli("train", "show", path)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        assert f"{path} cannot be read as a draft head: it is {said}; `truedraw train draft` makes one, a file" in line
        assert "--draft also takes a folder with an EAGLE draft or a Medusa checkpoint (config.json" in line


def test_a_note_changes_nothing_but_the_card(tmp_path, head):
    path, to = head({"seed": 1, "loss": "kl"}), tmp_path / "noted.safetensors"
    before, arrays = path.read_bytes(), load_file(path)
    note(path, to, {"seed": 2, "odd": "\u00e9 \u4e16"})
    assert path.read_bytes() == before
    assert read_card(to).training == {"seed": 2, "loss": "kl", "odd": "\u00e9 \u4e16"}
    again = load_file(to)
    assert {name: each.tobytes() for name, each in again.items()} == {n: a.tobytes() for n, a in arrays.items()}
    HeadFile(to)
    once = to.read_bytes()
    note(to, to, {})
    assert to.read_bytes() == once
    (tmp_path / "link").symlink_to(to)
    note(path, tmp_path / "link", {})
    assert (tmp_path / "link").is_symlink()
    assert read_card(to).training == {"seed": 1, "loss": "kl"}
    with pytest.raises(BadFile, match="cannot be written"):
        note(path, tmp_path / "gone" / "head.safetensors", {})
    assert not [*tmp_path.glob("*.part")]
