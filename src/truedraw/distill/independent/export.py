"""The draft as a Hugging Face folder, whole or not at all: whatever reads llama models reads it.

config.json, generation_config.json   a LlamaForCausalLM
model.safetensors                     float16
tokenizer.json, chat_template.jinja   the target's own
training.json                         our card: for which target it is, and what was measured
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadFile
from truedraw.protocol import ModelConfig
from truedraw.text import Tokenizer

CARD = "training.json"
FORMAT = "truedraw draft model"
WEIGHTS, TOKENIZER, TEMPLATE = "model.safetensors", "tokenizer.json", "chat_template.jinja"
LARGEST = float(np.finfo(np.float16).max)


def check_output(folder: Path) -> None:
    """Raises BadFile where something else than such a draft stands there."""
    if not folder.exists() or (folder.is_dir() and (is_ours(folder) or not any(folder.iterdir()))):
        return
    raise BadFile(f"{folder} is there already and is no draft of ours; give another --output, a folder to be made")


def is_ours(folder: Path) -> bool:
    """Whether `truedraw train draft` wrote the folder."""
    try:
        found = json.loads((folder / CARD).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def export(
    folder: Path, config: ModelConfig, tensors: Mapping[str, NDArray[np.float32]], tokenizer: Tokenizer,
    training: Mapping[str, Any],
) -> None:  # fmt: skip
    """Write all files beside and move them; what was there before stays until then. `tensors` by Hugging Face names.

    Raises BadFile.
    """
    check_output(folder)
    fresh, old = (folder.with_name(f"{folder.name}.{os.getpid()}.{what}") for what in ("part", "old"))
    try:
        rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        _write(fresh, config, tensors, tokenizer, training)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
        rmtree(old, ignore_errors=True)
    except OSError as error:
        rmtree(fresh, ignore_errors=True)
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise BadFile(
            f"{folder} cannot be written: {error.strerror}; make room, and the same command goes on"
        ) from error


def config_json(config: ModelConfig, tokenizer: Tokenizer) -> dict[str, Any]:
    """What transformers and we read."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context_length,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "tie_word_embeddings": config.tie_embeddings,
        "hidden_act": "silu",
        "torch_dtype": "float16",
        **special_ids(tokenizer),
    }


def special_ids(tokenizer: Tokenizer) -> dict[str, Any]:
    """Ids that begin, end and fill up texts, as far as the tokenizer has them."""
    ends = list(tokenizer.eos_ids)
    found = {
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": ends[0] if len(ends) == 1 else ends or None,
        "pad_token_id": tokenizer.pad_id,
    }
    return {name: value for name, value in found.items() if value is not None}


def _write(
    folder: Path, config: ModelConfig, tensors: Mapping[str, NDArray[np.float32]], tokenizer: Tokenizer,
    training: Mapping[str, Any],
) -> None:  # fmt: skip
    from safetensors.numpy import save

    half = {name: np.clip(values, -LARGEST, LARGEST).astype(np.float16) for name, values in tensors.items()}
    (folder / WEIGHTS).write_bytes(save(half, metadata={"format": "pt"}))
    (folder / TOKENIZER).write_text(tokenizer.to_json(), "utf-8")
    if tokenizer.chat_template is not None:
        (folder / TEMPLATE).write_text(tokenizer.chat_template, "utf-8")
    card = {"format": FORMAT, "tokenizer": tokenizer.fingerprint, "vocab_size": config.vocab_size, "training": training}
    _write_json(folder / "config.json", config_json(config, tokenizer))
    _write_json(folder / "generation_config.json", special_ids(tokenizer))
    _write_json(folder / CARD, card)


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", "utf-8", "replace")
