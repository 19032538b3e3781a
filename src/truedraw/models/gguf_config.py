"""GGUF metadata -> ModelConfig, refusing what an engine's graph would not honour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.fields import Fields
from truedraw.models.gguf_file import GGUFFile
from truedraw.models.layout import ARCHITECTURES
from truedraw.models.rope import llama3_from_factors
from truedraw.protocol import ModelConfig

THETA, TABLE, FLOAT_BYTES = "rope.freq_base", "rope_freqs.weight", 4
FACTORS = ("rope.scaling.factor", "rope.scale_linear")  # of positions
DEFAULT_ROPE_THETA = 10_000.0  # what llama.cpp assumes where the file is silent
NEVER = (
    "expert_count",
    "attention.scale",
    "logit_scale",
    "embedding_scale",
    "residual_scale",
    "attention.max_alibi_bias",
)
"""Metadata keys that change the computation in a way no graph here has; absent or zero is fine."""


def gguf_config(file: GGUFFile) -> ModelConfig:
    """The config; raises UnsupportedModel or BadModelFile."""
    architecture = file.metadata.get("general.architecture")
    if not isinstance(architecture, str) or architecture not in ARCHITECTURES:
        raise UnsupportedModel(
            f"{file.path} has the architecture {architecture!r}; supported: {', '.join(ARCHITECTURES)}"
        )
    fields = Fields(file.path, file.metadata, f"{architecture}.")
    _refuse_the_rest(fields)
    hidden, heads = fields.positive("embedding_length"), fields.positive("attention.head_count")
    head_dim = _head_dim(fields, hidden // heads)
    return ModelConfig(
        architecture=architecture,
        vocab_size=_vocab_size(file),
        context_length=fields.positive("context_length"),
        hidden_size=hidden,
        intermediate_size=fields.positive("feed_forward_length"),
        num_layers=fields.positive("block_count"),
        num_heads=heads,
        num_kv_heads=fields.positive("attention.head_count_kv", heads),
        head_dim=head_dim,
        rms_norm_eps=fields.number("attention.layer_norm_rms_epsilon"),
        rope_theta=fields.number(THETA, DEFAULT_ROPE_THETA),
        rope_scaling=_rope_scaling(file, fields, head_dim),
        tie_embeddings="output.weight" not in file.tensors,
        qkv_bias=architecture == "qwen2",
        qk_norm=architecture == "qwen3",
    )


def _vocab_size(file: GGUFFile) -> int:
    if "token_embd.weight" not in file.tensors:
        raise BadModelFile(f"{file.path} has no tensor token_embd.weight; the file is incomplete, fetch it again")
    return file.tensors["token_embd.weight"].shape[0]


def _head_dim(fields: Fields, default: int) -> int:
    head_dim = fields.positive("attention.key_length", default)
    for key in ("attention.value_length", "rope.dimension_count"):
        if fields.positive(key, head_dim) != head_dim:
            raise UnsupportedModel(
                f"{fields.where}: {key} is {fields.get(key)}, unlike the head size {head_dim}; "
                "only full rotary heads with keys and values of one size can be run"
            )
    return head_dim


def _refuse_the_rest(fields: Fields) -> None:
    for key in NEVER:
        fields.refuse(key)
    fields.refuse("rope.scaling.attn_factor", (None, 0, 1))
    fields.refuse("attention.causal", (None, True))
    fields.refuse_window("attention.sliding_window", fields.positive("context_length"))


def _rope_scaling(file: GGUFFile, fields: Fields, head_dim: int) -> dict[str, Any] | None:
    """As config.json would say it; a table of frequency factors must be Llama 3's.

    A factor without a type is linear, and may stand under an older key, as llama.cpp reads it.
    """
    kind = fields.get("rope.scaling.type")
    if kind not in (None, "none", "linear"):
        raise UnsupportedModel(f"{fields.where}: rope scaling {kind!r} is not supported; linear and llama3 are")
    linear = 1.0 if kind == "none" else _linear(fields)
    if TABLE not in file.tensors:
        return None if linear == 1.0 else {"rope_type": "linear", "factor": linear}
    if linear != 1.0:
        raise UnsupportedModel(f"{fields.where}: {TABLE} beside a linear factor of {linear} is not supported")
    return llama3_from_factors(fields.where, _table(file, head_dim), fields.number(THETA, DEFAULT_ROPE_THETA))


def _linear(fields: Fields) -> float:
    """1 where nothing is said, which a 0 says as well; the first key that is there counts."""
    key = next((key for key in FACTORS if fields.get(key) is not None), None)
    return fields.number(key) if key is not None and fields.get(key) != 0 else 1.0


def _table(file: GGUFFile, head_dim: int) -> NDArray[np.float32]:
    """[head_dim / 2]."""
    found = file.raw(TABLE)
    if file.tensors[TABLE].shape != (head_dim // 2,) or found.nbytes != head_dim // 2 * FLOAT_BYTES:
        raise BadModelFile(
            f"{file.path}: {TABLE} is not {head_dim // 2} float32 numbers, half the head size; fetch the file again"
        )
    return found.view("<f4").reshape(-1)
