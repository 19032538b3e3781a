"""Models and drafts by relative paths, in a process that changes its folder: what was opened is read on."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from draft.eagle.random_eagles import Shape, write
from draft.eagle.random_mtp import write_mimo
from draft.head.random_heads import card
from draft.head.random_heads import write as write_head
from generate.one_text import CONFIG, likely
from models.tiny_models import random_tensors, write_folder
from truedraw import load
from truedraw.draft.head.card import UNKNOWN
from truedraw.errors import BadParameter

SETTINGS = {"seed": 3, "max_tokens": 20, "ignore_eos": True}
SMALLER = replace(CONFIG, num_layers=CONFIG.num_layers - 1)
EAGLE = Shape("EAGLE-3", vocab=CONFIG.vocab_size, target=CONFIG.hidden_size, width=48, inner=96, head_dim=16,
              layer_ids=(1, 2), known=150)  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> SimpleNamespace:
    """Two folders in which the same names mean other models."""
    root = tmp_path_factory.mktemp("folders")
    here, there = root / "here", root / "there"
    write_folder(here / "tiny", CONFIG, likely())
    write_folder(there / "tiny", SMALLER, random_tensors(SMALLER))
    said = card(target="tiny", tokenizer=UNKNOWN, vocab_size=CONFIG.vocab_size, width=CONFIG.hidden_size,
                layers=(0,), tokens=50)  # fmt: skip
    write_head(here / "head.safetensors", said)
    write(here / "eagle", EAGLE)
    write_mimo(here / "mimo")
    return SimpleNamespace(here=here, there=there)


def check(model, there, monkeypatch, **spec) -> None:
    monkeypatch.chdir(there)
    plain = model.generate("hello world", speculative=False, **SETTINGS)
    fast = model.generate("hello world", speculative={"adaptive": False, **spec}, **SETTINGS)
    assert fast.fallback is None
    assert fast.stats.drafted > 20
    assert fast.choices[0].tokens == plain.choices[0].tokens


@pytest.mark.parametrize("name", ["tiny", "./tiny"])
def test_a_copy_is_of_the_files_that_are_open(place, monkeypatch, name) -> None:
    monkeypatch.chdir(place.here)
    with load(name, cache="cache", threads=1, draft="none") as model:
        check(model, place.there, monkeypatch, method="quantised-self")
        assert model.drafts.copy("int4").num_layers == CONFIG.num_layers
        assert model.name == name
    assert not (place.there / "cache").exists()


def test_and_where_there_is_no_such_name(place, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(place.here)
    with load("tiny", cache="cache", threads=1, amateur="tiny", contrastive_beta=0.3) as model:
        check(model, tmp_path, monkeypatch, method="quantised-self")


@pytest.mark.parametrize(
    ("target", "draft", "spec"),
    [
        ("tiny", "head.safetensors", {"method": "head"}),
        ("tiny", "eagle", {"method": "eagle"}),
        ("mimo", "mtp", {"method": "mtp"}),
        ("mimo", None, {"method": "mtp"}),
        ("tiny", "none", {"method": "early-exit"}),
    ],
    ids=str,
)
def test_what_drafts_is_opened_late_and_found(place, monkeypatch, target, draft, spec) -> None:
    monkeypatch.chdir(place.here)
    with load(target, cache="cache", threads=1, draft=draft) as model:
        check(model, place.there, monkeypatch, **spec)


def test_a_draft_by_a_relative_path_is_the_one_that_the_model_was_loaded_for(place, monkeypatch) -> None:
    monkeypatch.chdir(place.here)
    with load("tiny", cache="cache", threads=1, draft="head.safetensors") as model:
        assert model.drafts.head("head.safetensors") is model.drafts.head(None)
    with load("tiny", cache="cache", threads=1, draft="eagle") as model:
        assert model.drafts.eagle("./eagle") is model.drafts.eagle(None)


def test_an_amateur_stays_the_model_that_it_was(place, monkeypatch) -> None:
    monkeypatch.chdir(place.here)
    with load("tiny", cache="cache", threads=1, amateur="tiny") as model:
        monkeypatch.chdir(place.there)
        assert model.drafts.engine("tiny") is model.engine.drafting
        assert model.drafts.engine(str(place.here / "tiny")) is model.engine.drafting
        assert model.drafts.engine(str(place.there / "tiny")).num_layers == SMALLER.num_layers


def test_files_that_hold_another_model_by_now_are_not_copied(tmp_path) -> None:
    folder = write_folder(tmp_path / "tiny", CONFIG, likely())
    with load(folder, cache=tmp_path / "cache", threads=1, draft="none") as model:
        path = folder / "tokenizer.json"
        said = json.loads(path.read_text(encoding="utf-8"))
        ids = said["model"]["vocab"]
        ids["x"], ids["y"] = ids["y"], ids["x"]
        path.write_text(json.dumps(said), encoding="utf-8")
        with pytest.raises(BadParameter, match=r"method: the files of .*tiny hold another model by now; load it again"):
            model.generate("hello", speculative="quantised-self")
        assert not model.drafts._open
