"""A Hugging Face folder of any architecture that transformers knows, as a checkpoint for this engine alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from truedraw.engine.pytorch.asking import HOW, reason
from truedraw.engine.pytorch.options import MISSING
from truedraw.engine.pytorch.running import quiet
from truedraw.errors import BadModelFile, BadParameter, UnsupportedModel
from truedraw.models.checkpoint import Checkpoint
from truedraw.models.fields import read_json
from truedraw.models.folder import Folder
from truedraw.models.openvino_ir import BY_LENGTH, LIMITS
from truedraw.models.safetensors_weights import weight_files
from truedraw.protocol import ModelConfig

ENDLESS = 1 << 20  # tokens: the context of a model that names no limit, a recurrent one for instance


def open_folder(name: str, folder: Path) -> Checkpoint:
    """Read the settings; the weights stay where they are, and are looked for last, see LacksWeights.

    Raises BadModelFile, UnsupportedModel, and BadParameter where transformers is not installed.
    """
    values = read_json(folder / "config.json")
    sizes = _sizes(folder)
    read = Folder.of(folder, values, sizes.vocab_size)
    return read.checkpoint(name, "huggingface", sizes, [*weight_files(folder), folder / "config.json"])


def context_length(config: Any) -> int:
    """Tokens that a text of this model of transformers can have, so that all of them are treated alike."""
    text = config.get_text_config()
    told = (_setting(text, name) for name in LIMITS)
    longest = next((limit for limit in told if isinstance(limit, int) and limit > 0), ENDLESS)
    rope = _setting(text, "rope_parameters") or {}
    kinds = [rope, *(each for each in rope.values() if isinstance(each, dict))]  # one a kind of layer, in some models
    scaled = [each for each in kinds if each.get("rope_type") in BY_LENGTH]
    return min([int(longest), *(int(each.get("original_max_position_embeddings") or longest) for each in scaled)])


def _sizes(folder: Path) -> ModelConfig:
    """What is asked of a config whatever its architecture; the graph is transformers' own."""
    config = _config(folder)
    text = config.get_text_config()
    hidden, heads = int(text.hidden_size), int(_setting(text, "num_attention_heads") or 1)
    return ModelConfig(
        architecture=str(config.model_type),
        vocab_size=int(text.vocab_size),
        context_length=context_length(config),
        hidden_size=hidden,
        intermediate_size=int(_number(text, "intermediate_size", hidden)),
        num_layers=int(text.num_hidden_layers),
        num_heads=heads,
        num_kv_heads=int(_number(text, "num_key_value_heads", heads)),
        head_dim=int(_number(text, "head_dim", max(1, hidden // heads))),
        rms_norm_eps=float(_number(text, "rms_norm_eps", 1e-6)),
        rope_theta=float((_setting(text, "rope_parameters") or {}).get("rope_theta", 10_000.0)),
        rope_scaling=None,
        tie_embeddings=bool(getattr(text, "tie_word_embeddings", False)),
        qkv_bias=False,
        qk_norm=False,
    )


def _config(folder: Path) -> Any:
    try:
        from transformers import AutoConfig
    except ImportError:
        raise BadParameter("engine", MISSING) from None
    try:
        with quiet():
            return AutoConfig.from_pretrained(folder, **HOW)
    except (ValueError, KeyError) as error:
        raise UnsupportedModel(
            f"{folder / 'config.json'} is of no architecture that the installed transformers knows: {reason(error)}"
        ) from error
    except (OSError, TypeError, AttributeError) as error:
        raise BadModelFile(f"{folder / 'config.json'} cannot be read by transformers: {error}") from error


def _number(config: Any, key: str, usual: float) -> float:
    """A setting that is one number; a list, one a layer, or nothing becomes the usual one."""
    value = _setting(config, key)
    return value if isinstance(value, int | float) and value > 0 else usual


def _setting(config: Any, key: str) -> Any:
    """None for one that is not there, and for one that differs from layer to layer, which transformers then raises."""
    try:
        return getattr(config, key, None)
    except RuntimeError:
        return None
