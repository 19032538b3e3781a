"""Models that carry layers for multi-token prediction, as targets: a qwen2 model, and what lies beside it."""

from __future__ import annotations

import json

import pytest

from draft.eagle.random_mtp import CONFIG, PREFIX, layer_sizes, write_mimo
from models.tiny_models import GGUFOptions, random_tensors, tiny_config, write_folder, write_gguf
from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.mtp import layer_shapes
from truedraw.models.opening import open_checkpoint


def say(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return folder


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_model_is_qwen2_and_its_layers_are_counted(tmp_path, count) -> None:
    found = open_checkpoint(write_mimo(tmp_path / "m", count=count))
    assert found.config == CONFIG
    assert found.mtp_layers == count
    assert not [name for name in found.weights.names() if name.startswith(PREFIX)]


def test_the_sizes_of_a_layer() -> None:
    assert layer_shapes(CONFIG) == layer_sizes(CONFIG)


def test_what_another_model_has_beside_it_is_refused(tmp_path) -> None:
    folder = say(write_mimo(tmp_path / "m"), architectures=["Qwen2ForCausalLM"])
    with pytest.raises(UnsupportedModel, match=r"has tensors that a qwen2 model does not use: model\.mtp_layers\.0"):
        open_checkpoint(folder)


def test_a_model_of_another_class_has_none(tmp_path) -> None:
    folder = write_folder(tmp_path / "m", tiny_config(), random_tensors(tiny_config()), num_nextn_predict_layers=2)
    assert open_checkpoint(folder).mtp_layers == 0


@pytest.mark.parametrize("value", [-1, 1.5, True, "x", [1], {}])
def test_a_number_of_layers_that_is_none(tmp_path, value) -> None:
    with pytest.raises(BadModelFile, match=r"config\.json: num_nextn_predict_layers is .*, not a whole number of lay"):
        open_checkpoint(say(write_mimo(tmp_path / "m"), num_nextn_predict_layers=value))


@pytest.mark.parametrize("values", [{"use_sliding_window": True}, {"mlp_bias": True}, {"hidden_act": "gelu"}], ids=str)
def test_what_no_graph_honours_is_refused(tmp_path, values) -> None:
    with pytest.raises(UnsupportedModel, match=next(iter(values))):
        open_checkpoint(say(write_mimo(tmp_path / "m"), **values))


def test_a_gguf_file_of_its_own_architecture_is_refused(tmp_path) -> None:
    options = GGUFOptions(architecture="mimo2")
    with pytest.raises(UnsupportedModel, match="has the architecture 'mimo2'; supported: llama, qwen2, qwen3"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", CONFIG, random_tensors(CONFIG), options))
