"""From a checkpoint to a model of transformers, in float32 on the CPU; none of its tensors is missing."""

from __future__ import annotations

from typing import Any

from truedraw.engine.pytorch.asking import HOW, reason
from truedraw.engine.pytorch.running import quiet
from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models import Checkpoint
from truedraw.protocol import ModelConfig, Weights

CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
"""Models whose weights are known by the names of Hugging Face, whatever file they come from."""
EAGER = "eager"  # attention that honours any mask, on any device, and that every architecture has
SETTINGS: dict[str, Any] = {"output_loading_info": True, **HOW}


def load_model(checkpoint: Checkpoint, attention: str = EAGER) -> Any:
    """attention: as transformers calls it. Raises UnsupportedModel and BadModelFile."""
    if checkpoint.kind == "openvino":
        raise UnsupportedModel(
            f"{checkpoint.name} is an OpenVINO folder, which only the engine openvino runs; "
            "give a GGUF file or a Hugging Face folder"
        )
    with quiet():
        read = _from_folder if checkpoint.kind == "huggingface" else _from_weights
        loaded, report = read(checkpoint, attention)
    for problem in ("missing_keys", "mismatched_keys", "error_msgs"):
        if report.get(problem):
            found = ", ".join(sorted(map(str, report[problem]))[:3])
            if _translates(checkpoint):
                raise UnsupportedModel(
                    f"{checkpoint.path} is a model of an encoder and a decoder; only decoders alone can be drawn from"
                )
            raise BadModelFile(f"{checkpoint.path}: {problem.replace('_', ' ')}: {found}; fetch the model again")
    return loaded.eval().requires_grad_(False)


def _translates(checkpoint: Checkpoint) -> bool:
    if checkpoint.kind != "huggingface":
        return False
    from transformers import AutoConfig

    return bool(getattr(AutoConfig.from_pretrained(checkpoint.path, **HOW), "is_encoder_decoder", False))


def _from_folder(checkpoint: Checkpoint, attention: str) -> tuple[Any, dict[str, Any]]:
    import torch
    from transformers import AutoModelForCausalLM

    try:
        found = AutoModelForCausalLM.from_pretrained(
            checkpoint.path, dtype=torch.float32, attn_implementation=attention, **SETTINGS
        )
    except ValueError as error:
        raise UnsupportedModel(f"transformers cannot run {checkpoint.path}: {reason(error)}") from error
    except ImportError as error:
        raise UnsupportedModel(f"{checkpoint.path} needs a package that is not installed: {reason(error)}") from error
    except Exception as error:  # the readers below raise classes of their own
        raise BadModelFile(f"{checkpoint.path} cannot be loaded: {reason(error)}; fetch the model again") from error
    return found[0], found[1]


def _from_weights(checkpoint: Checkpoint, attention: str) -> tuple[Any, dict[str, Any]]:
    import torch
    import transformers

    config, weights = checkpoint.config, checkpoint.weights
    if config.architecture not in CLASSES or weights is None:
        raise UnsupportedModel(
            f"{checkpoint.name} is a {config.architecture} model; supported: {', '.join(CLASSES)}, "
            "and whatever transformers knows from a Hugging Face folder"
        )
    kind = getattr(transformers, CLASSES[config.architecture])
    settings = kind.config_class(**_settings(config))
    found = kind.from_pretrained(
        None,
        config=settings,
        state_dict=_tensors(weights),
        dtype=torch.float32,
        attn_implementation=attention,
        **SETTINGS,
    )
    return found[0], found[1]


def _settings(config: ModelConfig) -> dict[str, Any]:
    """A ModelConfig in the words of transformers."""
    scaling = config.rope_scaling or {"rope_type": "default"}
    return {
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context_length,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_parameters": {**scaling, "rope_theta": config.rope_theta},
        "tie_word_embeddings": config.tie_embeddings,
    }


def _tensors(weights: Weights) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(weights.dense(name)) for name in weights.names()}
