"""Python code that lies in a folder is never run, whatever stands on stdin."""

from __future__ import annotations

import io
import json

import pytest

from engine.pytorch.families import farthest, open_family, write_family
from truedraw.errors import UnsupportedModel
from truedraw.protocol import Work

pytestmark = pytest.mark.parity
pytest.importorskip("torch")
pytest.importorskip("transformers")

CODE = """
from pathlib import Path
from transformers import PreTrainedConfig
Path({marker!r}).touch()
class Own(PreTrainedConfig):
    model_type = "own"
"""
MAPS = {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}
NEVER_RUN = "needs Python code that lies in its folder, and such code is never run here; take a model"


@pytest.fixture
def marker(tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    return tmp_path / "run"


def with_code(folder, marker, **changes):
    """A folder of gpt2 that has code beside it."""
    model, file = write_family(folder, "gpt2"), folder / "config.json"
    (folder / "own.py").write_text(CODE.format(marker=str(marker)))
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return model


@pytest.mark.parametrize("changes", [
    {"model_type": "own", "auto_map": MAPS},
    {"model_type": "own", "auto_map": {**MAPS, "AutoConfig": "someone/else--own.Own"}},
    {"model_type": "t5", "auto_map": {"AutoModelForCausalLM": "own.Own"}},
], ids=["no such architecture", "code of another repository", "no causal model"])  # fmt: skip
def test_code_of_a_folder_is_refused_without_a_question(tmp_path, marker, monkeypatch, changes) -> None:
    answers = io.StringIO("yes\n" * 9)
    monkeypatch.setattr("sys.stdin", answers)
    with_code(tmp_path / "m", marker, **changes)
    with pytest.raises(UnsupportedModel, match=NEVER_RUN):
        open_family(tmp_path / "m")
    assert answers.tell() == 0
    assert not marker.exists()


def test_a_known_architecture_is_run_by_the_class_of_transformers(tmp_path, marker) -> None:
    model = with_code(tmp_path / "m", marker, auto_map=MAPS)
    engine = open_family(tmp_path / "m")
    assert farthest(model, engine, [Work(engine.open([1, 2, 3]))]) < 1e-5
    assert not marker.exists()
