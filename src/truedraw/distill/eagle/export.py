"""The draft as a folder in the format of speculators for EAGLE-3, whole or not at all.

config.json         the layer's sizes, the streams that are read, and what speculators wants to know
model.safetensors   float16; the embedding is the target's, and not in it
training.json       our card: for which target it is, and what was measured
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.export import Target
from truedraw.distill.folders import CONFIG, write_folder, write_json, write_tensors
from truedraw.distill.halves import halved
from truedraw.distill.windows import POSITIONS
from truedraw.draft.eagle.card import CARD, FORMAT, KIND
from truedraw.protocol import Ints, ModelConfig

PROPOSAL = "greedy"  # that drafts are taken one after the other: speculators knows no sampled proposals


def export(
    folder: Path, target: Target, config: ModelConfig, draft: tuple[Arrays, Ints], training: Mapping[str, Any]
) -> None:
    """Whole or not at all; what was there before stays until then. draft: tensors by their names, and its tokens.

    Raises BadFile.
    """
    write_folder(folder, KIND, lambda fresh: _write(fresh, target, config, draft, training))


def config_json(target: Target, config: ModelConfig, known: int) -> dict[str, Any]:
    """As speculators writes it; layers are numbered by what enters them."""
    verifier = {"name_or_path": target.name, "architectures": []}
    return {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "speculators_config": {
            "algorithm": "eagle3",
            "default_proposal_method": PROPOSAL,
            "proposal_methods": [{"proposal_type": PROPOSAL, "speculative_tokens": POSITIONS}],
            "verifier": verifier,
        },
        "draft_vocab_size": known,
        "eagle_aux_hidden_state_layer_ids": [layer + 1 for layer in target.layers],
        "norm_before_fc": True,
        "norm_before_residual": False,
        "tie_word_embeddings": False,
        "torch_dtype": "float16",
        "transformer_layer_config": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "attention_bias": False,
            "head_dim": config.head_dim,
            "hidden_act": "silu",
            "hidden_size": config.hidden_size,
            "intermediate_size": config.intermediate_size,
            "max_position_embeddings": config.context_length,
            "mlp_bias": False,
            "num_attention_heads": config.num_heads,
            "num_hidden_layers": config.num_layers,
            "num_key_value_heads": config.num_kv_heads,
            "rms_norm_eps": config.rms_norm_eps,
            "rope_scaling": None,
            "rope_theta": config.rope_theta,
            "vocab_size": config.vocab_size,
        },
    }


def maps(tokens: Ints, vocab_size: int) -> Arrays:
    """d2t [known]: what is added to a draft's own id; t2d [vocab]: whether it knows a token of the target's."""
    return {"d2t": tokens - np.arange(len(tokens)), "t2d": np.isin(np.arange(vocab_size), tokens)}


def _write(
    folder: Path, target: Target, config: ModelConfig, draft: tuple[Arrays, Ints], training: Mapping[str, Any]
) -> None:
    tensors, tokens = draft
    half = {name: halved(values) for name, values in tensors.items()}
    write_tensors(folder, {**half, **maps(tokens, target.vocab_size)})
    write_json(folder / CONFIG, config_json(target, config, len(tokens)))
    card = {FORMAT: KIND, "target": target.name, "tokenizer": target.tokenizer, "vocab_size": target.vocab_size}
    write_json(folder / CARD, {**card, "layers": list(target.layers), "training": training})
