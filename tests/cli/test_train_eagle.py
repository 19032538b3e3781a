"""truedraw train draft --kind eagle3: from a model to an EAGLE draft's folder that drafts for it."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from models.tiny_models import tiny_config, write_folder, write_gguf, write_openvino
from training import error, is_quiet, kill_once, some_tensors
from truedraw.distill.folders import is_ours
from truedraw.draft.eagle.card import KIND
from truedraw.generate.loading import load

parity = pytest.mark.parity
SMALL = ("--kind", "eagle3", "--tokens", 1500, "--steps", 30, "--hidden", 32, "--vocabulary", 200,
         "--answer-tokens", 40, "--learning-rate", 0.01, "--patience", 99, "--json")  # fmt: skip


def flags_for(model, folder):
    return ("-m", model, "--cache", folder / "cache", "-o", folder / "eagle", "--threads", 1)


@pytest.fixture
def flags(tmp_path):
    """What all runs on a GGUF file share."""
    config = tiny_config()
    return flags_for(write_gguf(tmp_path / "tiny.gguf", config, some_tensors(config)), tmp_path)


@parity
def test_a_draft_is_trained_and_drafts(cli, tmp_path, flags):
    found = cli("train", "draft", *flags, *SMALL)
    assert is_quiet(found)
    (line,) = found.out.splitlines()
    told, folder = json.loads(line), tmp_path / "eagle"
    assert (told["kind"], told["layers"], told["steps"]) == ("eagle3", [0, 1], 30)
    assert told["tokens"] >= 1500 > told["held_out_tokens"] > 0
    assert set(told["held_out"]) == {"1", "0.7", "0"}
    assert (tmp_path / "eagle.html").read_text().count("<svg viewBox") >= 4
    card, config = (json.loads((folder / name).read_text()) for name in ("training.json", "config.json"))
    assert card["training"]["held_out"] == told["held_out"]
    tensors = load_file(folder / "model.safetensors")
    assert config["eagle_aux_hidden_state_layer_ids"] == [1, 2]
    assert (config["draft_vocab_size"], len(tensors["lm_head.weight"])) == (200, 200)
    known = np.arange(200) + tensors["d2t"]
    assert np.flatnonzero(tensors["t2d"]).tolist() == known.tolist()
    with load(flags[1], cache=tmp_path / "cache", draft=folder) as model:
        prompt = model.chat_prompt([{"role": "user", "content": "hello"}])
        how = {"method": "eagle", "num_speculative_tokens": 1, "adaptive": False, "draft_temperature": "target"}
        drawn = model.generate(prompt, n=20, max_tokens=40, temperature=1.0, speculative=how).stats
        seeded, plain = (
            model.generate(prompt, n=2, max_tokens=20, temperature=1.0, seed=3, speculative=each).choices
            for each in (how, False)
        )
    assert drawn.drafted > 300
    assert abs(drawn.accepted / drawn.drafted - told["held_out"]["1"]["acceptance"][0]) < 0.1
    assert [each.tokens for each in seeded] == [each.tokens for each in plain]
    measured = cli("train", "eval", *flags[:4], "--spec-method", "eagle", "--draft", folder, "--temperature", 1,
                   "--limit", 2, "--max-tokens", 30, "--repeats", 0, "--json")  # fmt: skip
    assert measured.code == 0
    (section,) = json.loads(measured.out)["temperatures"]
    (folder / "training.json").write_text(json.dumps({**card, "tokenizer": "0" * 32}))
    refused = cli("generate", "hello", *flags[:4], "--draft", folder, "--spec-method", "eagle")
    assert "was trained for another tokenizer" in error(refused)
    assert abs(section["acceptance"][0]["mean"] - told["held_out"]["1"]["acceptance"][0]) < 0.1


@parity
def test_a_killed_run_goes_on(cli, tmp_path, flags):
    words = [str(each) for each in ("train", "draft", *flags, *SMALL)]
    work = tmp_path / "eagle.work"
    kill_once(work, "eagle3-lk.checkpoint", words)
    names = ("texts.jsonl", "whole/features.f16", "whole/rows.bin")
    before = {name: (work / name).read_bytes() for name in names}
    found = cli(*words)
    assert found.code == 0
    assert {name: (work / name).read_bytes() for name in before} == before
    draft = {path.name: path.read_bytes() for path in (tmp_path / "eagle").iterdir()}
    again = cli(*words)  # nothing is left to do
    assert (again.code, again.out) == (0, found.out)
    assert {path.name: path.read_bytes() for path in (tmp_path / "eagle").iterdir()} == draft
    assert "hidden was 32, is 16" in error(cli(*words, "--hidden", 16))
    assert "layers was [0, 1], is [1]" in error(cli(*words, "--layers", 1))


@parity
@pytest.mark.parametrize("text", ["--prompts", "--documents"])
def test_any_model_trains_through_the_same_command(cli, tmp_path, text):
    """Random weights, another architecture, untied, without a chat template, beside a head's features."""
    config = tiny_config("qwen2", tie_embeddings=False)
    folder = write_folder(tmp_path / "target", config, some_tensors(config))
    asked = '{"prompt": "hello"}\n{"prompt": "what is 12?"}\n'
    file = tmp_path / ("own.jsonl" if text == "--prompts" else "own.txt")
    file.write_text(asked if text == "--prompts" else "hello 12 wolves. " * 150)
    same = (text, file, "--steps", 5, "--tokens", 700, "--hidden", 16, "--vocabulary", 100, "--answer-tokens", 40,
            "--work", tmp_path / "work", "--json")  # fmt: skip
    assert cli("train", "draft", *flags_for(folder, tmp_path), "-o", tmp_path / "a.safetensors", *same).code == 0
    found = cli("train", "draft", *flags_for(folder, tmp_path), "--kind", "eagle3", *same)
    assert is_quiet(found)
    how = {"method": "eagle", "num_speculative_tokens": 2, "adaptive": False}
    with load(folder, cache=tmp_path / "cache", draft=tmp_path / "eagle") as model:
        drawn = model.generate("hello", n=4, max_tokens=20, temperature=1.0, seed=3, speculative=how)
        plain = model.generate("hello", n=4, max_tokens=20, temperature=1.0, seed=3, speculative=False)
    assert drawn.stats.drafted > 0
    assert [each.tokens for each in drawn.choices] == [each.tokens for each in plain.choices]


@parity
def test_a_loss_that_is_no_number_leaves_the_best_draft(cli, tmp_path, flags, monkeypatch):
    from truedraw.distill.eagle.learner import EagleLearner

    real = EagleLearner.gradient

    def broken(self, step, *rest):
        found = real(self, step, *rest)
        if step == 10:
            self.weights["fc.weight"].grad += float("inf")
        return found

    monkeypatch.setattr(EagleLearner, "gradient", broken)
    said = error(cli("train", "draft", *flags, *SMALL))
    assert "the loss is no number any more after step 10" in said
    assert f"the best draft before is written: {tmp_path / 'eagle'}" in said
    assert is_ours(tmp_path / "eagle", KIND)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--heads", 2), "--heads: an eagle3 draft drafts any number of tokens; leave it out"),
        (("--width", 64), "--width: an eagle3 draft has the model's sizes; leave it out"),
        (("--layers", "1,9"), "--layers: got [1, 9]; give layers of the model, 0 to 1"),
        (("--loss", "mse"), "--loss"),
    ],
)
def test_what_does_not_go_together(cli, flags, has_torch, given, said):
    assert said in " ".join(cli("train", "draft", *flags, "--kind", "eagle3", *given).err.split())


@parity
@pytest.mark.parametrize("kind", ["eagle3", "transformer"])
def test_a_target_without_hidden_states_is_refused(cli, tmp_path, kind):
    flags = flags_for(write_openvino(tmp_path / "ready", tiny_config()), tmp_path)
    said = error(cli("train", "draft", *flags, "--kind", kind, "--budget", "1m"))
    assert "hidden_layers: an OpenVINO IR folder does not name its layers; open a GGUF file or a model folder" in said
    assert not (tmp_path / "eagle").exists()


def test_a_folder_of_somebody_else_stays(cli, tmp_path, flags, has_torch):
    (tmp_path / "eagle").mkdir()
    (tmp_path / "eagle" / "thesis.txt").write_text("years of work")
    said = error(cli("train", "draft", *flags, "--kind", "eagle3"))
    assert "is there already and is no draft of ours; give another --output, a folder to be made" in said
    assert (tmp_path / "eagle" / "thesis.txt").read_text() == "years of work"


def test_it_is_not_compared_with_heads(cli, flags, has_torch):
    found = cli("train", "compare", *flags[:4], "--kind", "eagle3")
    assert found.code == 2
    assert "eagle3 is no head; choose another kind" in found.err
