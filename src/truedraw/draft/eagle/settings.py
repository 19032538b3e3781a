"""What config.json of a folder with a draft says: of which format it is, and the sizes of its decoder layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truedraw.errors import BadFile
from truedraw.models.fields import Fields, read_json
from truedraw.models.huggingface_config import huggingface_config
from truedraw.models.mtp import declared_layers
from truedraw.protocol import ModelConfig

CONFIG = "config.json"
SPECULATORS, LAYER_CONFIG = "speculators_model_type", "transformer_layer_config"
LAYER_IDS, DRAFTED = "eagle_aux_hidden_state_layer_ids", "draft_vocab_size"
TYPES = ("eagle", "eagle3")
SWITCHED = ("qwen2", "qwen3")  # whose windows are off unless they are switched on
SILENT = {"num_hidden_layers": 1, "max_position_embeddings": 2048}
"""What configs of drafts may leave out. Positions are not limited by it: the target's context is."""


def is_mtp(path: Path) -> bool:
    """Whether a folder is a model with MTP layers, by its config; whether they can be read, EagleFolder says."""
    try:
        return declared_layers(Fields(path / CONFIG, read_json(path / CONFIG))) > 0
    except BadFile:
        return False


def speculators_type(path: Path, values: Mapping[str, Any]) -> str | None:
    """None where the config is not one of speculators."""
    said = values.get(SPECULATORS)
    if said is not None and said not in TYPES:
        raise BadFile(f"{path / CONFIG}: {SPECULATORS} is {said!r:.60}; an EAGLE draft is one of: {', '.join(TYPES)}")
    return None if said is None else str(said)


def eagle_config(values: Fields) -> Fields:
    """Settings that some trainers keep apart; none where they are not there."""
    found = values.get("eagle_config", {})
    if not isinstance(found, dict):
        raise BadFile(f"{values.where}: eagle_config is {found!r:.60}, not an object")
    return Fields(values.where, found)


def told_layers(values: Fields) -> list[int]:
    """Numbers of layers that the streams enter: 2 is what layer 1, counted from 0, puts out; none are not said.

    Those in `eagle_config` (SpecForge, SGLang) number the layers that put them out.
    """
    found: list[list[int]] = []
    for said in (values, eagle_config(values)):
        ids = said.get(LAYER_IDS, [])
        if not isinstance(ids, list) or not all(type(each) is int for each in ids):
            raise BadFile(f"{values.where}: {LAYER_IDS} is {ids!r:.80}; it should list numbers of layers")
        found.append(ids)
    return found[0] or [each + 1 for each in found[1]]


def drafts_fewer(values: Fields) -> bool:
    """Whether it says that not all of the target's tokens are drafted."""
    return values.get(DRAFTED) not in (None, values.get("vocab_size"))


def layer_config(values: Fields) -> ModelConfig:
    """The decoder layer's. Which biases there are, the tensors say."""
    layer = values.get(LAYER_CONFIG, values.values)
    if not isinstance(layer, dict):
        raise BadFile(f"{values.where}: {LAYER_CONFIG} is no object")
    kind = "Qwen3ForCausalLM" if layer.get("model_type") == "qwen3" else "LlamaForCausalLM"
    given = {key: value for key, value in layer.items() if value is not None}
    _refuse_the_rest(Fields(values.where, {**SILENT, **given}))
    told = {**SILENT, **given, "architectures": [kind], "model_type": None, "attention_bias": None}
    return huggingface_config(Fields(values.where, told))


def _refuse_the_rest(layer: Fields) -> None:
    """Raises UnsupportedModel for what would make another network of the layer."""
    kinds, switch = layer.get("layer_types", []), layer.get("use_sliding_window")
    slides = "sliding_attention" in kinds if isinstance(kinds, list) and kinds else True
    off = switch is False or (switch is None and layer.get("model_type") in SWITCHED)
    if slides and not off:
        layer.refuse_window("sliding_window", layer.positive("max_position_embeddings"))
    for key in ("attn_logit_softcapping", "final_logit_softcapping", "attention_multiplier", "rope_interleave"):
        layer.refuse(key)
    for key in ("logit_scale", "logits_scaling", "embedding_multiplier", "residual_multiplier"):
        layer.refuse(key, (None, 1))


def mtp_config(values: Fields) -> ModelConfig:
    """Of one MTP layer: it has the sizes of the model's own."""
    return huggingface_config(Fields(values.where, {**values.values, "num_hidden_layers": 1}))
