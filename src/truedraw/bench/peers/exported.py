"""A folder with a llama-family decoder as the stateful OpenVINO model that exporters write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truedraw.bench.peers.exported_graph import Exporter
from truedraw.errors import UnsupportedModel
from truedraw.protocol import ModelConfig, Weights
from truedraw.silent_openvino import openvino


def write_ir(folder: Path, config: ModelConfig, weights: Weights, *, int8: bool = True) -> Path:
    """Write openvino_model.xml, .bin and config.json into a new folder; raises UnsupportedModel outside llama."""
    ov = openvino()

    if config.architecture != "llama":
        raise UnsupportedModel(f"only llama models can be exported, not {config.architecture}")
    folder.mkdir()
    ov.save_model(Exporter(config, weights, int8).model(), folder / "openvino_model.xml", compress_to_fp16=False)
    (folder / "config.json").write_text(json.dumps(card(config)), encoding="utf-8")
    return folder


def card(config: ModelConfig) -> dict[str, Any]:
    """config.json of Hugging Face, as far as readers of an IR folder look at it."""
    return {
        "model_type": config.architecture,
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context_length,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
    }
