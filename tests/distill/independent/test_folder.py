"""The folder that comes out: a plain llama model with the target's tokens, whole or not at all."""

import json
import os
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest

from engine.decoder import Decoder, RandomWeights, tv
from models.tiny_models import TEMPLATE, byte_tokens, random_tensors, tiny_config, write_folder, write_gguf
from truedraw.distill import folders
from truedraw.distill.folders import check_output, is_ours
from truedraw.distill.independent.export import KIND, export
from truedraw.errors import BadFile
from truedraw.generate.loading import load
from truedraw.models.opening import open_checkpoint
from truedraw.protocol import Work
from truedraw.text import Tokenizer

CONFIG = tiny_config(hidden_size=32, num_heads=2, num_kv_heads=2, intermediate_size=48, tie_embeddings=False,
                     vocab_size=len(byte_tokens()) + 5)  # fmt: skip
FACTS = {"model": "tiny", "tokens": 12, "note": "naïve \ud800"}


def some_tensors(seed=0):
    return {name: values * np.float32(0.3 if values.ndim == 2 else 1)
            for name, values in random_tensors(CONFIG, seed).items()}  # fmt: skip


@pytest.fixture
def targets(tmp_path):
    """The tokenizers of a GGUF file and of a folder, by these names."""
    config = tiny_config()
    gguf = write_gguf(tmp_path / "tiny.gguf", config, random_tensors(config))
    folder = write_folder(tmp_path / "target", config, random_tensors(config), eos_token_id=[2, 0])
    return {"gguf": Tokenizer.of(open_checkpoint(gguf)), "folder": Tokenizer.of(open_checkpoint(folder))}


@pytest.mark.parametrize("kind", ["gguf", "folder"])
def test_it_has_the_tokens_of_its_target(targets, tmp_path, kind):
    target, out = targets[kind], tmp_path / "draft"
    export(out, CONFIG, some_tensors(), target, FACTS)
    checkpoint = open_checkpoint(out)
    own = Tokenizer.of(checkpoint)
    assert own.fingerprint == target.fingerprint
    assert own.same_ids(target)
    text = "hello 12 worlds\n<|im_start|>naïve 🙂 \x00\u200d"
    assert own.encode(text) == target.encode(text)
    assert (own.bos_id, own.eos_ids, own.pad_id) == (target.bos_id, target.eos_ids, target.pad_id)
    assert own.chat_template == target.chat_template == (TEMPLATE if kind == "gguf" else None)
    assert checkpoint.config == CONFIG
    assert is_ours(out, KIND)
    assert json.loads((out / "training.json").read_text())["tokenizer"] == target.fingerprint


def test_it_says_what_its_tensors_say(targets, tmp_path):
    export(tmp_path / "draft", CONFIG, some_tensors(), targets["gguf"], FACTS)
    weights = RandomWeights(CONFIG)
    weights.dense = lambda name: some_tensors()[name].astype(np.float16).astype(np.float32)
    tokens = [5, 9, 100, 7, 265]
    with load(tmp_path / "draft", cache=tmp_path / "cache", numerics="reference", weights="stored") as model:
        sequence = model.engine.open(tokens)
        logits = model.engine.forward([Work(sequence)])[0].logits[0]
        sequence.close()
    assert tv(logits[None], Decoder(CONFIG, weights).logits(tokens)[-1:]) < 1e-4


def test_a_draft_of_ours_is_replaced_as_a_whole(targets, tmp_path):
    out = tmp_path / "draft"
    export(out, CONFIG, some_tensors(), targets["gguf"], FACTS)
    before = (out / "model.safetensors").read_bytes()
    (out / "notes.txt").write_text("of an earlier one")
    export(out, CONFIG, some_tensors(1), targets["folder"], FACTS)
    assert (out / "model.safetensors").read_bytes() != before
    assert not (out / "chat_template.jinja").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft", "target", "tiny.gguf"]


@pytest.mark.parametrize("what", ["a file", "a model", "a damaged card"])
def test_what_is_not_ours_stays(targets, tmp_path, what):
    out = tmp_path / "draft"
    if what == "a file":
        out.write_text("{}")
    else:
        write_folder(out, CONFIG, some_tensors())
        (out / "training.json").write_text('{"format": ' if what == "a damaged card" else "[]")
    before = {path: path.read_bytes() for path in Path(tmp_path).rglob("*") if path.is_file()}
    with pytest.raises(BadFile, match="is there already and is no draft of ours; give another --output"):
        export(out, CONFIG, some_tensors(), targets["gguf"], FACTS)
    assert {path: path.read_bytes() for path in Path(tmp_path).rglob("*") if path.is_file()} == before


def test_an_empty_folder_will_do(tmp_path):
    (tmp_path / "draft").mkdir()
    check_output(tmp_path / "draft", KIND)
    check_output(tmp_path / "not there", KIND)


def test_a_name_too_long_to_be_written_beside_is_refused_before_the_work(targets, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1 << 22)  # the largest of Linux
    longest = tmp_path / ("ä" * 115)
    export(longest, CONFIG, some_tensors(), targets["gguf"], FACTS)
    for much in (115, 200):
        with pytest.raises(BadFile, match="cannot be written: its name has more than 230 bytes; give a shorter one"):
            check_output(tmp_path / ("ä" * much + "b"), KIND)


def test_where_nothing_can_be_written_the_one_before_stays(targets, tmp_path, monkeypatch):
    out = tmp_path / "draft"
    export(out, CONFIG, some_tensors(), targets["gguf"], FACTS)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(self, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadFile, match="cannot be written: No space left on device; make room, and the same command"):
        export(out, CONFIG, some_tensors(1), targets["gguf"], FACTS)
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    real = Path.rename

    def refused(self, target):
        if self.name.endswith(".truedraw-part"):
            raise OSError(13, "Permission denied")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(BadFile, match="Permission denied"):
        export(out, CONFIG, some_tensors(1), targets["gguf"], FACTS)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft", "target", "tiny.gguf"]


def test_numbers_that_are_too_large_for_half_precision_are_cut(targets, tmp_path):
    tensors = some_tensors()
    tensors["model.norm.weight"][3] = 1e6
    export(tmp_path / "draft", CONFIG, tensors, targets["gguf"], FACTS)
    found = open_checkpoint(tmp_path / "draft").weights.dense("model.norm.weight")
    assert found[3] == np.finfo(np.float16).max
    assert replace(CONFIG) == open_checkpoint(tmp_path / "draft").config


def test_what_a_killed_process_had_replaced_does_not_come_back(targets, tmp_path, monkeypatch):
    """Killed with the new draft in its place and the old one beside it."""
    out = tmp_path / "draft"
    export(out, CONFIG, some_tensors(), targets["gguf"], FACTS)
    monkeypatch.setattr(folders, "rmtree", lambda *_, **__: None)
    export(out, CONFIG, some_tensors(1), targets["gguf"], FACTS)
    monkeypatch.undo()
    (old,) = tmp_path.glob("draft.*.truedraw-old")
    check_output(out, KIND)
    assert not old.exists()
    rmtree(out)
    check_output(out, KIND)
    assert not out.exists()


def test_a_process_killed_between_the_two_leaves_the_one_before(targets, tmp_path, monkeypatch):
    out, real = tmp_path / "draft", Path.rename
    export(out, CONFIG, some_tensors(), targets["gguf"], FACTS)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def killed(self, target):
        if self.name.endswith(".truedraw-part"):
            raise KeyboardInterrupt  # nothing tidies up behind it, as behind a kill
        return real(self, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        export(out, CONFIG, some_tensors(1), targets["gguf"], FACTS)
    monkeypatch.undo()
    assert not out.exists()
    (part,) = tmp_path.glob("draft.*.truedraw-part")
    others = tmp_path / "draft.20261124.old", tmp_path / "draft.12.part"
    for other in others:
        other.mkdir()
    for folder in (part, *others):
        os.utime(folder, (0, 0))
    check_output(out, KIND)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(path.name for path in tmp_path.glob("draft*")) == ["draft", "draft.12.part", "draft.20261124.old"]


def test_what_another_draft_left_is_its_own(targets, tmp_path):
    other, out = tmp_path / "draft.v2", tmp_path / "draft"
    export(other, CONFIG, some_tensors(), targets["gguf"], FACTS)
    before = {path.name: path.read_bytes() for path in other.iterdir()}
    other.rename(tmp_path / "draft.v2.123.truedraw-old")  # as a kill between the two leaves it
    part = tmp_path / "draft.v2.124.truedraw-part"
    part.mkdir()
    os.utime(part, (0, 0))
    check_output(out, KIND)
    assert not out.exists()
    assert part.exists()
    export(out, CONFIG, some_tensors(1), targets["gguf"], FACTS)
    check_output(other, KIND)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == before


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_one(targets, tmp_path, is_there):
    link, disk = tmp_path / "draft", tmp_path / "disk"
    disk.mkdir()
    if is_there:
        export(disk / "v1", CONFIG, some_tensors(), targets["gguf"], FACTS)
    link.symlink_to(disk / "v1")
    check_output(link, KIND)
    export(link, CONFIG, some_tensors(1), targets["gguf"], FACTS)
    assert link.is_symlink()
    assert is_ours(disk / "v1", KIND)
    assert [each.name for each in disk.iterdir()] == ["v1"]
    assert sorted(each.name for each in tmp_path.glob("draft*")) == ["draft"]
