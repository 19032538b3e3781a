"""The draft as a Hugging Face folder, whole or not at all: whatever reads llama models reads it.

config.json, generation_config.json   a LlamaForCausalLM
model.safetensors                     float16
tokenizer.json, chat_template.jinja   the target's own
training.json                         our card: for which target it is, and what was measured
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.folders import CONFIG, write_folder, write_json, write_tensors
from truedraw.distill.halves import halved
from truedraw.draft.eagle.card import CARD, FORMAT
from truedraw.protocol import ModelConfig
from truedraw.text import Tokenizer

KIND = "truedraw draft model"
TOKENIZER, TEMPLATE = "tokenizer.json", "chat_template.jinja"


def export(
    folder: Path, config: ModelConfig, tensors: Mapping[str, NDArray[np.float32]], tokenizer: Tokenizer,
    training: Mapping[str, Any],
) -> None:  # fmt: skip
    """Whole or not at all; what was there before stays until then. `tensors` by Hugging Face names. Raises BadFile."""
    write_folder(folder, KIND, lambda fresh: _write(fresh, config, tensors, tokenizer, training))


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
    write_tensors(folder, {name: halved(values) for name, values in tensors.items()})
    (folder / TOKENIZER).write_text(tokenizer.to_json(), "utf-8")
    if tokenizer.chat_template is not None:
        (folder / TEMPLATE).write_text(tokenizer.chat_template, "utf-8")
    card = {FORMAT: KIND, "tokenizer": tokenizer.fingerprint, "vocab_size": config.vocab_size, "training": training}
    write_json(folder / CONFIG, config_json(config, tokenizer))
    write_json(folder / "generation_config.json", special_ids(tokenizer))
    write_json(folder / CARD, card)
