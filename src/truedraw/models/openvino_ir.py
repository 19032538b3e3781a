"""An OpenVINO IR folder (openvino_model.xml and .bin, config.json, tokenizer.json) as a checkpoint.

The graph is run as it is, so any architecture will do; config.json only tells sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from truedraw.errors import BadModelFile
from truedraw.models.checkpoint import Checkpoint, LacksWeights
from truedraw.models.fields import Fields, read_json
from truedraw.models.folder import Folder
from truedraw.models.huggingface_config import MISTRAL_WINDOW, TRAINED_LENGTH
from truedraw.protocol import ModelConfig

GRAPH, WEIGHTS = "openvino_model.xml", "openvino_model.bin"
WIDTHS = "hidden_size", "n_embd", "n_embed", "d_model"  # as architectures call them, the usual name first
HEADS = "num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"
LAYERS = "num_hidden_layers", "n_layer", "n_layers", "num_layers"
LIMITS = "max_position_embeddings", "max_seq_len", "max_target_positions"  # as transformers' own settings have it
LENGTHS = (*LIMITS, "n_positions", "seq_length", "n_ctx")
BY_LENGTH = ("dynamic", "longrope", "su")
"""Rotary scalings that treat a text otherwise once it is longer than the model was first trained for."""


def open_openvino(name: str, folder: Path) -> Checkpoint:
    """Check that the graph is whole and its constants lie inside the .bin; raises BadModelFile.

    Weights come last, so that LacksWeights says that all else is good.
    """
    _require(folder, GRAPH, "config.json")
    needed = _bytes_needed(folder / GRAPH)
    values = read_json(folder / "config.json")
    config = ir_config(Fields(folder / "config.json", values))
    read = Folder.of(folder, values, config.vocab_size)
    _require(folder, WEIGHTS, error=LacksWeights)
    _check_length(folder / WEIGHTS, needed)
    return read.checkpoint(name, "openvino", config, [folder / GRAPH, folder / WEIGHTS])


def _require(folder: Path, *names: str, error: type[BadModelFile] = BadModelFile) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise error(f"{folder} lacks {name}; an OpenVINO folder needs {GRAPH}, {WEIGHTS} and config.json")


def ir_config(fields: Fields) -> ModelConfig:
    """Sizes only; a model with several parts keeps those of its text part in `text_config`."""
    inner = fields.get("text_config")
    if isinstance(inner, dict):
        fields = Fields(fields.where, {**fields.values, **inner})
    hidden, heads, layers = (fields.positive(fields.named(*names)) for names in (WIDTHS, HEADS, LAYERS))
    return ModelConfig(
        architecture=str(fields.get("model_type", "unknown")),
        vocab_size=fields.positive("vocab_size"),
        context_length=_context_length(fields),
        hidden_size=hidden,
        intermediate_size=fields.positive("intermediate_size", hidden),
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=fields.positive("num_key_value_heads", heads),
        head_dim=fields.positive("head_dim", max(1, hidden // heads)),
        rms_norm_eps=fields.number("rms_norm_eps", 1e-6),
        rope_theta=fields.number("rope_theta", 10_000.0),
        rope_scaling=None,
        tie_embeddings=fields.switch("tie_word_embeddings"),
        qkv_bias=False,
        qk_norm=False,
    )


def _context_length(fields: Fields) -> int:
    """Up to here all texts are treated alike, whatever becomes of a graph's own mask and of its rotary scaling."""
    return min([fields.positive(fields.named(*LENGTHS)), *_masks_end(fields), *_scalings_begin(fields)])


def _masks_end(fields: Fields) -> Iterator[int]:
    """Tokens that a window, or a chunk, of some layers has."""
    kinds = fields.get("layer_types", [])
    kinds = kinds if isinstance(kinds, list) else []
    window = MISTRAL_WINDOW if fields.get("model_type") == "mistral" and "sliding_window" not in fields.values else None
    slides = fields.get("use_sliding_window") is not False
    if slides and (not kinds or "sliding_attention" in kinds) and fields.get("sliding_window", window) is not None:
        yield fields.positive("sliding_window", window)
    if (not kinds or "chunked_attention" in kinds) and fields.get("attention_chunk_size") is not None:
        yield fields.positive("attention_chunk_size")
    if any("local" in _names(fields.get(key)) for key in ("attention_layers", "attention_types")):
        yield fields.positive("window_size")


def _names(value: object) -> Iterator[str]:
    """In lists of lists."""
    if isinstance(value, list):
        for each in value:
            yield from _names(each)
    elif isinstance(value, str):
        yield value


def _scalings_begin(fields: Fields) -> Iterator[int]:
    """Tokens up to which rotary scalings that look at a text's length leave it as it is: a pass has many texts."""
    given = [each for key in ("rope_scaling", "rope_parameters") if isinstance(each := fields.get(key), dict)]
    for rope in [*given, *(each for some in given for each in some.values() if isinstance(each, dict))]:
        if rope.get("rope_type", rope.get("type")) in BY_LENGTH:
            held = rope if rope.get(TRAINED_LENGTH) is not None else fields.values
            if held.get(TRAINED_LENGTH) is not None:
                yield Fields(fields.where, held).positive(TRAINED_LENGTH)


def _bytes_needed(graph: Path) -> int:
    """Where the last constant of a graph ends in the .bin; raises BadModelFile for a graph that is cut."""
    text = graph.read_bytes()
    if b"<net" not in text[:4096] or not text.rstrip().endswith(b"</net>"):
        raise BadModelFile(f"{graph} is not a whole OpenVINO graph; export or fetch it again")
    return max(map(_end, re.findall(rb"<data\b[^>]*>", text)), default=0)


def _check_length(weights: Path, end: int) -> None:
    if end > weights.stat().st_size:
        raise BadModelFile(f"{weights} is truncated: {weights.stat().st_size} bytes of at least {end}; fetch it again")


def _end(data: bytes) -> int:
    """Of a constant in the .bin, by its element; 0 for one of anything else."""
    offset, size = (re.search(rb"\b" + name + rb'="(\d+)"', data) for name in (b"offset", b"size"))
    return int(offset[1]) + int(size[1]) if offset and size else 0
