"""Names on the hub, against a stub of the hub on the loopback interface."""

from pathlib import Path

import numpy as np
import pytest
from hub_stub import Hub, fetch
from tiny_models import random_tensors, tiny_config

from truedraw.errors import PullError
from truedraw.models import open_checkpoint
from truedraw.models.hub import is_hub_name

pytest.importorskip("huggingface_hub")


def test_a_model_is_fetched_once_and_opens(hub, tmp_path):
    cache = tmp_path / "cache"
    said, stderr = fetch(hub, "org/tiny", cache)
    folder = cache / "models" / "org--tiny"
    assert said.startswith(f"found {folder} huggingface")
    assert stderr == ""  # a library draws no bars
    assert not (folder / "README.md").exists()
    tensors = random_tensors(tiny_config("qwen2"))
    weights = open_checkpoint(folder).weights
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(weights.dense(name), tensor)
    Hub.log.clear()
    assert open_checkpoint("org/tiny", cache=cache).path == folder
    assert Hub.log == []


def test_progress_counts_bytes(hub, tmp_path):
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert int(said.rpartition(" ")[2]) >= (Hub.folder / "model.safetensors").stat().st_size


@pytest.mark.parametrize(
    ("name", "message"),
    [("org/nothing", "UnknownModel the hub has no model 'org/nothing'"), ("org/gated", "PullError org/gated is gated")],
)
def test_names_that_cannot_be_had(hub, tmp_path, name, message):
    said, _ = fetch(hub, name, tmp_path / "cache")
    assert said.startswith(message)
    assert not (tmp_path / "cache" / "models" / name.replace("/", "--")).exists()


def test_no_network(tmp_path):
    said, _ = fetch("http://127.0.0.1:9", "org/tiny", tmp_path / "cache")
    assert said.startswith("PullError org/tiny could not be fetched from the hub")


def test_an_incomplete_model_is_not_kept(hub, tmp_path):
    (Hub.folder / "tokenizer.json").unlink()
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert said.startswith("UnsupportedModel")
    assert not (tmp_path / "cache" / "models" / "org--tiny").exists()
    assert not list((tmp_path / "cache" / "models" / ".staging").rglob("*.part"))


def test_a_damaged_model_is_fetched_again_when_it_is_pulled(hub, tmp_path):
    fetch(hub, "org/tiny", tmp_path / "cache")
    weights = tmp_path / "cache" / "models" / "org--tiny" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-9])
    Hub.log.clear()
    assert fetch(hub, "org/tiny", tmp_path / "cache")[0].startswith("BadModelFile")
    assert Hub.log == []
    found = fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0]
    assert found.startswith("found")
    assert weights.read_bytes() == whole
    Hub.log.clear()
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert Hub.log == []


def test_a_file_that_the_engine_would_open_only_later_is_looked_at_when_it_is_pulled(hub, tmp_path):
    """As one of another architecture, which this reader leaves to torch."""
    cut = Hub.folder / "model.safetensors"
    cut.write_bytes(cut.read_bytes()[:-9])
    found = "N(kind='huggingface', path=folder, text=N(load_tokenizer=list), config=N(context_length=9))"
    leaves = f"open_folder=lambda name, folder: {found}"
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache", "from types import SimpleNamespace as N", leaves)
    assert said.startswith("BadModelFile")
    assert "model.safetensors has " in said
    assert not (tmp_path / "cache" / "models" / "org--tiny").exists()


def test_a_cut_tokenizer_is_not_kept(hub, tmp_path):
    cut = Hub.folder / "tokenizer.json"
    cut.write_bytes(cut.read_bytes()[:500])
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert said.startswith("BadModelFile org/tiny/tokenizer.json is not JSON")
    assert not (tmp_path / "cache" / "models" / "org--tiny").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_damage_that_leaves_a_file_as_long_as_it_was_is_noticed_when_it_is_pulled(hub, tmp_path, name):
    fetch(hub, "org/tiny", tmp_path / "cache")
    file = tmp_path / "cache" / "models" / "org--tiny" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] + b" " * 9)
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert file.read_bytes() == whole


def test_what_lies_beside_a_fetched_model_stays(hub, tmp_path):
    fetch(hub, "org/tiny", tmp_path / "cache")
    folder = tmp_path / "cache" / "models" / "org--tiny"
    (folder / "head.safetensors").write_text("mine")
    Hub.log.clear()
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert Hub.log == []
    (folder / "tokenizer.json").write_text("damaged")
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert Hub.log
    assert (folder / "head.safetensors").read_text() == "mine"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["a.gguf", "README.md"], "holds GGUF files (a.gguf); fetch one with `hf download org/tiny FILE"),
        ([f"{i}.gguf" for i in range(9)], "(0.gguf, 1.gguf, 2.gguf, 3.gguf, ...)"),
        (
            ["config.json", "pytorch_model.bin"],
            "neither config.json with *.safetensors nor an OpenVINO IR; a model whose",
        ),
        (["onnx/model.safetensors"], "neither config.json with *.safetensors"),
        ([], "neither config.json with *.safetensors"),
    ],
)
def test_what_no_engine_opens_is_not_fetched(hub, tmp_path, monkeypatch, files, said):
    monkeypatch.setattr(Hub, "files", lambda self: list(map(Path, files)))
    Hub.log.clear()
    found, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert found.startswith("UnsupportedModel org/tiny holds ")
    assert said in found
    assert not [path for path in Hub.log if "/resolve/" in path]


@pytest.mark.parametrize("error", [
    "RuntimeError('odd')", "ConnectionResetError(104, 'reset')", "TimeoutError('slow')", "OSError('check failed')",
    "OSError(113, 'no route')", "__import__('socket').gaierror(-3, 'no name')", "__import__('ssl').SSLError(1, 'bad')",
])  # fmt: skip
def test_whatever_the_hub_package_raises_is_one_error(tmp_path, error):
    """It speaks HTTP with packages of its own, whose errors are theirs."""
    prepare = (
        f"import huggingface_hub; huggingface_hub.HfApi.model_info = lambda *a, **k: (_ for _ in ()).throw({error})"
    )
    said, _ = fetch("http://127.0.0.1:9", "org/tiny", tmp_path / "cache", prepare)
    assert said.startswith("PullError org/tiny could not be fetched from the hub: ")
    assert said.endswith("; try again, or give a file or folder that is on this machine")


def test_without_the_extra(tmp_path):
    said, _ = fetch("http://127.0.0.1:9", "org/tiny", tmp_path, prepare="sys.modules['huggingface_hub'] = None")
    assert said == "PullError org/tiny is a name on the hub, which needs an extra: pip install 'truedraw[hub]'"
    assert issubclass(PullError, Exception)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("org/name", True),
        ("Org-1/na.me_2", True),
        ("name", False),
        ("a/b/c", False),
        ("./a", False),
        ("../a", False),
        ("a/", False),
    ],
)
def test_hub_names(name, is_one):
    assert is_hub_name(name) == is_one
