"""truedraw train draft --kind transformer: from a model to a small model that drafts for it."""

import json

import pytest

from models.tiny_models import tiny_config, write_folder, write_gguf
from training import error, is_quiet, kill_once, some_tensors
from truedraw.distill.folders import is_ours
from truedraw.distill.independent.export import KIND
from truedraw.generate.loading import load

parity = pytest.mark.parity
SMALL = ("--kind", "transformer", "--tokens", 2500, "--steps", 60, "--width", 32, "--attention-heads", 2,
         "--vocabulary", 200, "--answer-tokens", 40, "--learning-rate", 0.01, "--patience", 99, "--json")  # fmt: skip


def flags_for(model, folder):
    return ("-m", model, "--cache", folder / "cache", "-o", folder / "small", "--threads", 1)


@pytest.fixture
def flags(tmp_path):
    """What all runs on a GGUF file share."""
    config = tiny_config()
    return flags_for(write_gguf(tmp_path / "tiny.gguf", config, some_tensors(config)), tmp_path)


@parity
def test_a_transformer_is_trained_and_drafts(cli, tmp_path, flags):
    found = cli("train", "draft", *flags, *SMALL)
    assert is_quiet(found)
    (line,) = found.out.splitlines()
    told = json.loads(line)
    assert (told["kind"], told["width"], told["layers"], told["steps"]) == ("transformer", 32, 2, 60)
    assert set(told["held_out"]) == {"1", "0.7", "0"}
    page = (tmp_path / "small.html").read_text()
    assert page.count("<svg viewBox") >= 4
    assert "Kept within" not in page
    card = json.loads((tmp_path / "small" / "training.json").read_text())
    assert card["training"]["held_out"] == told["held_out"]
    with load(flags[1], cache=tmp_path / "cache") as model:
        prompt = model.chat_prompt([{"role": "user", "content": "hello"}])
        how = {"method": "model", "model": str(tmp_path / "small"), "num_speculative_tokens": 1, "adaptive": False}
        drawn = model.generate(prompt, n=20, max_tokens=40, temperature=1.0, speculative=how).stats
    assert drawn.drafted > 300
    assert abs(drawn.accepted / drawn.drafted - told["held_out"]["1"]["acceptance"][0]) < 0.1
    measured = cli("train", "eval", *flags[:4], "--spec-method", "model", "--spec-model", tmp_path / "small",
                   "--temperature", 1, "--limit", 2, "--max-tokens", 30, "--repeats", 0, "--json")  # fmt: skip
    assert measured.code == 0
    (section,) = json.loads(measured.out)["temperatures"]
    assert section


@parity
def test_a_killed_run_goes_on(cli, tmp_path, flags):
    words = [str(each) for each in ("train", "draft", *flags, *SMALL)]
    work = tmp_path / "small.work"
    kill_once(work, "transformer-lk.checkpoint", words)
    before = {name: (work / name).read_bytes() for name in ("texts.jsonl", "features.f16", "rows.bin")}
    found = cli(*words)
    assert found.code == 0
    assert {name: (work / name).read_bytes() for name in before} == before
    draft = {path.name: path.read_bytes() for path in (tmp_path / "small").iterdir()}
    again = cli(*words)  # nothing is left to do
    assert (again.code, again.out) == (0, found.out)
    assert {path.name: path.read_bytes() for path in (tmp_path / "small").iterdir()} == draft
    assert "width was 32, is 16" in error(cli(*words, "--width", 16))
    assert "seed was 0, is 1" in error(cli(*words, "--seed", 1))


@parity
@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
@pytest.mark.parametrize("text", ["--prompts", "--documents"])
def test_any_model_trains_through_the_same_command(cli, tmp_path, kind, text):
    """Random weights, another architecture, untied, without a chat template."""
    config = tiny_config("qwen2", tie_embeddings=False)
    folder = write_folder(tmp_path / "target", config, some_tensors(config))
    asked = '{"prompt": "hello"}\n{"prompt": "what is 12?"}\n'
    file = tmp_path / ("own.jsonl" if text == "--prompts" else "own.txt")
    file.write_text(asked if text == "--prompts" else "hello 12 wolves. " * 150)
    found = cli("train", "draft", *flags_for(folder, tmp_path), "--kind", kind, text, file, "--steps", 5, "--tokens",
                700, "--hidden", 16, "--vocabulary", 100, "--answer-tokens", 40, "--json")  # fmt: skip
    assert is_quiet(found)
    told = json.loads(found.out)
    assert told["source"] == ("documents" if text == "--documents" else "its answers to given prompts")
    named = {"draft": tmp_path / "small"} if kind == "recurrent" else {}
    how = {"method": "head"} if kind == "recurrent" else {"method": "model", "model": str(tmp_path / "small")}
    how |= {"num_speculative_tokens": 2, "adaptive": False}
    with load(folder, cache=tmp_path / "cache", **named) as model:
        drawn = model.generate("hello", n=4, max_tokens=20, temperature=1.0, seed=3, speculative=how)
        plain = model.generate("hello", n=4, max_tokens=20, temperature=1.0, seed=3, speculative=False)
    assert drawn.stats.drafted > 0
    assert [each.tokens for each in drawn.choices] == [each.tokens for each in plain.choices]


@parity
def test_a_model_that_knows_no_turns_needs_prompts(cli, tmp_path):
    config = tiny_config()
    folder = write_folder(tmp_path / "target", config, some_tensors(config))
    said = error(cli("train", "draft", *flags_for(folder, tmp_path), *SMALL))
    assert "has no chat template to write prompts in; give a file of prompts, or --documents" in said
    assert not (tmp_path / "small").exists()


@parity
def test_a_loss_that_is_no_number_leaves_the_best_draft(cli, tmp_path, flags, monkeypatch):
    from truedraw.distill.independent.learner import Learner

    real = Learner.gradient

    def broken(self, step, *rest):
        found = real(self, step, *rest)
        if step == 20:
            self.draft.weights["output"].grad += float("inf")
        return found

    monkeypatch.setattr(Learner, "gradient", broken)
    said = error(cli("train", "draft", *flags, *SMALL))
    assert "the loss is no number any more after step 20" in said
    assert f"the best draft before is written: {tmp_path / 'small'}" in said
    assert is_ours(tmp_path / "small", KIND)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--width", 64), "--width: a recurrent head has the model's sizes; leave it out, or give --kind transformer"),
        (("--kind", "medusa", "--depth", 3), "--depth: a medusa head has the model's sizes"),
        (("--kind", "transformer", "--heads", 2), "--heads: "),
        (("--kind", "transformer", "--width", 0), "--width"),
    ],
)
def test_what_does_not_go_together(cli, flags, has_torch, given, said):
    assert said in cli("train", "draft", *flags, *given).err


def test_a_folder_of_somebody_else_stays(cli, tmp_path, flags, has_torch):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "thesis.txt").write_text("years of work")
    said = error(cli("train", "draft", *flags, "--kind", "transformer"))
    assert "is there already and is no draft of ours; give another --output, a folder to be made" in said
    assert (tmp_path / "small" / "thesis.txt").read_text() == "years of work"


def test_it_is_not_compared_with_heads(cli, tmp_path, flags, has_torch):
    found = cli("train", "compare", *flags[:4], "--kind", "transformer")
    assert found.code == 2
    assert "transformer is no head; choose another kind" in found.err
