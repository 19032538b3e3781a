"""The default model with another vocabulary: fewer words, and other numbers for those that are left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from models.tiny_models import config_json
from truedraw.models import open_checkpoint
from truedraw.models.layout import expected_shapes

EMBEDDING = "model.embed_tokens.weight"


def fewer_words(folder: Path, merges: int, layers: int) -> Path:
    """Its first `layers` layers over the words of its first `merges` merges, in half precision."""
    whole = open_checkpoint("smollm2-135m")
    assert whole.weights is not None
    folder.mkdir()
    kept = write_tokenizer(whole.text.load_tokenizer(), folder / "tokenizer.json", merges)
    config = replace(whole.config, num_layers=layers, vocab_size=len(kept))
    (folder / "config.json").write_text(json.dumps(config_json(config)))
    tensors = {name: whole.weights.dense(name).astype(np.float16) for name in expected_shapes(config)}
    tensors[EMBEDDING] = np.ascontiguousarray(tensors[EMBEDDING][kept])
    save_file(tensors, folder / "model.safetensors")
    return folder


def write_tokenizer(tokenizer: Tokenizer, path: Path, merges: int) -> list[int]:
    """The ids that are kept, in the order of their new ones."""
    parts = json.loads(tokenizer.to_str())
    model = parts["model"]
    gone = {"".join(pair if isinstance(pair, list) else pair.split(" ")) for pair in model["merges"][merges:]}
    model["merges"] = model["merges"][:merges]
    gone -= {"".join(pair if isinstance(pair, list) else pair.split(" ")) for pair in model["merges"]}
    added = {each["content"] for each in parts["added_tokens"]}
    kept = sorted(i for token, i in model["vocab"].items() if token not in gone or token in added)
    np.random.default_rng(1).shuffle(kept)
    new = {old: i for i, old in enumerate(kept)}
    model["vocab"] = {token: new[i] for token, i in model["vocab"].items() if i in new}
    for each in parts["added_tokens"]:
        each["id"] = new[each["id"]]
    path.write_text(json.dumps(parts))
    return kept
