"""config.json -> ModelConfig, refusing what an engine's graph would not honour."""

from __future__ import annotations

from typing import Any

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.fields import Fields
from truedraw.models.layout import ARCHITECTURES
from truedraw.protocol import ModelConfig

CLASSES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "llama",  # the same graph once the sliding window is off, which is checked
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "MiMoForCausalLM": "qwen2",  # with layers beside it that only draft, see mtp.py
}
TYPES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "mimo": "qwen2"}
"""By model_type, after which transformers chooses its code."""
DEFAULT_ROPE_THETA = 10_000.0  # of transformers, for a config that is silent
DEFAULT_EPS = 1e-6
MISTRAL_WINDOW = 4096
LLAMA3_KEYS = ("factor", "low_freq_factor", "high_freq_factor")
TRAINED_LENGTH = "original_max_position_embeddings"


def huggingface_config(fields: Fields) -> ModelConfig:
    """The config; raises UnsupportedModel or BadModelFile."""
    kind = _class(fields)
    architecture = CLASSES[kind]
    _refuse_the_rest(fields, kind)
    hidden, heads = fields.positive("hidden_size"), fields.positive("num_attention_heads")
    kv_heads = fields.positive("num_key_value_heads", heads)
    return ModelConfig(
        architecture=architecture,
        vocab_size=fields.positive("vocab_size"),
        context_length=fields.positive("max_position_embeddings"),
        hidden_size=hidden,
        intermediate_size=fields.positive("intermediate_size"),
        num_layers=fields.positive("num_hidden_layers"),
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=fields.positive("head_dim", _default_head_dim(architecture, hidden, heads)),
        rms_norm_eps=fields.number("rms_norm_eps", DEFAULT_EPS),
        rope_theta=_rope_theta(fields),
        rope_scaling=_rope_scaling(fields),
        tie_embeddings=fields.switch("tie_word_embeddings"),
        qkv_bias=architecture == "qwen2",
        qk_norm=architecture == "qwen3",
    )


def _class(fields: Fields) -> str:
    named = fields.get("architectures", [])
    found = [kind for kind in named if isinstance(kind, str) and kind in CLASSES] if isinstance(named, list) else []
    if not found:
        raise UnsupportedModel(
            f"{fields.where} is of the class {named!r}; supported: {', '.join(CLASSES)} "
            f"(architectures {', '.join(ARCHITECTURES)}); the engine pytorch runs whatever transformers knows"
        )
    _check_type(fields, CLASSES[found[0]])
    return str(found[0])


def _check_type(fields: Fields, architecture: str) -> None:
    kind = fields.get("model_type")
    if kind is not None and (not isinstance(kind, str) or TYPES.get(kind) != architecture):
        fitting = " or ".join(name for name, each in TYPES.items() if each == architecture)
        raise UnsupportedModel(
            f"{fields.where}: model_type is {kind!r:.60}, and its class computes as {fitting}; which of them counts "
            "cannot be told, correct the one that is wrong"
        )


def _default_head_dim(architecture: str, hidden: int, heads: int) -> int:
    return 128 if architecture == "qwen3" else hidden // heads  # as transformers has it


def _refuse_the_rest(fields: Fields, kind: str) -> None:
    fields.refuse("hidden_act", (None, "silu"))
    fields.refuse("partial_rotary_factor", (None, 1, 1.0))
    _refuse_both_ways(fields)
    for key in ("mlp_bias", "use_sliding_window", "quantization_config"):
        fields.refuse(key)
    if CLASSES[kind] != "qwen2":  # whose projections have their fixed set of biases
        fields.refuse("attention_bias")
    kinds = fields.get("layer_types", [])
    if not isinstance(kinds, list):
        raise BadModelFile(f"{fields.where}: layer_types is {kinds!r}, not a list")
    if "sliding_attention" in kinds:
        raise UnsupportedModel(f"{fields.where}: layers with sliding attention are not supported")
    if kind == "MistralForCausalLM" or fields.get("model_type") == "mistral":
        fields.refuse_window("sliding_window", fields.positive("max_position_embeddings"), MISTRAL_WINDOW)


def _refuse_both_ways(fields: Fields) -> None:
    """Raises UnsupportedModel where tokens see later ones: by anything that is not true, null included."""
    value = fields.values.get("is_causal", True)
    if value is not True:
        raise UnsupportedModel(f"{fields.where}: is_causal = {value!r:.60} is not supported; it must be absent or true")


def _rope(fields: Fields) -> Fields:
    """`rope_scaling` of older files and of those who scale by hand, which counts first as in transformers, or else
    `rope_parameters` of newer ones."""
    value = fields.get("rope_scaling", {}) or fields.get("rope_parameters", {})
    if not isinstance(value, dict):
        raise BadModelFile(f"{fields.where}: the rope settings are {value!r}, not an object")
    return Fields(fields.where, value)


def _rope_theta(fields: Fields) -> float:
    """Raises BadModelFile where it stands in settings that do not count alone."""
    theta = _rope(fields).number("rope_theta", fields.get("rope_theta", DEFAULT_ROPE_THETA))
    newer = fields.get("rope_parameters", {})
    if isinstance(newer, dict) and newer.get("rope_theta", theta) != theta:
        raise BadModelFile(
            f"{fields.where}: rope_theta is {newer['rope_theta']!r} in rope_parameters, but rope_scaling counts first, "
            f"and with it rope_theta is {theta:g}; put all of them into rope_parameters"
        )
    return theta


def _trained_length(fields: Fields) -> float:
    """Beside the rope settings it counts first, and the whole context where it stands nowhere, as in transformers."""
    if fields.get(TRAINED_LENGTH) is not None:
        return fields.number(TRAINED_LENGTH)
    return _rope(fields).number(TRAINED_LENGTH, fields.positive("max_position_embeddings"))


def _rope_scaling(fields: Fields) -> dict[str, Any] | None:
    rope = _rope(fields)
    rope.refuse("partial_rotary_factor", (None, 1, 1.0))
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return None
    if kind == "linear":
        return {"rope_type": kind, "factor": rope.number("factor")}
    if kind == "llama3":
        factors = {key: rope.number(key) for key in LLAMA3_KEYS}
        if factors["low_freq_factor"] >= factors["high_freq_factor"]:
            raise BadModelFile(f"{fields.where}: the rope's low_freq_factor is not below its high_freq_factor")
        return {"rope_type": kind, TRAINED_LENGTH: _trained_length(fields)} | factors
    raise UnsupportedModel(f"{fields.where}: rope scaling {kind!r} is not supported; linear and llama3 are")
