"""A Hugging Face folder (config.json, *.safetensors, tokenizer.json) as a checkpoint."""

from __future__ import annotations

from pathlib import Path

from truedraw.models.checkpoint import Checkpoint
from truedraw.models.fields import Fields, read_json
from truedraw.models.folder import Folder
from truedraw.models.huggingface_config import huggingface_config
from truedraw.models.mtp import PREFIX, declared_layers, is_carrier
from truedraw.models.safetensors_weights import SafetensorsWeights, weight_files


def open_huggingface(name: str, folder: Path) -> Checkpoint:
    """Read the settings, check that every tensor is there; raises BadModelFile or UnsupportedModel.

    Weights come last, so that LacksWeights says that all else is good.
    """
    values = read_json(folder / "config.json")
    fields = Fields(folder / "config.json", values)
    config = huggingface_config(fields)
    read = Folder.of(folder, values, config.vocab_size)
    weights = SafetensorsWeights(folder, config, PREFIX if is_carrier(fields) else None)
    files = [*weight_files(folder), folder / "config.json"]
    mtp_layers = declared_layers(fields) if weights.has_beside else 0
    return read.checkpoint(name, "huggingface", weights.config, files, weights, mtp_layers)
