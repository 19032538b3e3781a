"""What a reader wants to know of a model, as plain values."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from truedraw.models.cache import STAGING, folder_name, is_fetched, models_folder
from truedraw.models.catalogue import CATALOGUE
from truedraw.models.checkpoint import Checkpoint
from truedraw.models.layout import num_parameters
from truedraw.models.pull import pulled_file


def describe(checkpoint: Checkpoint) -> dict[str, Any]:
    """Name, kind, architecture, parameters, size_bytes, quantisation, context_length and so on."""
    config, weights = checkpoint.config, checkpoint.weights
    entry = CATALOGUE.get(checkpoint.name)
    return {
        "name": checkpoint.name,
        "kind": checkpoint.kind,
        "architecture": config.architecture,
        "parameters": num_parameters(config) if weights is not None else None,
        "size_bytes": checkpoint.size_bytes,
        "quantisation": dict(Counter(map(weights.stored_as, weights.names()))) if weights is not None else None,
        "context_length": config.context_length,
        "layers": config.num_layers,
        "vocabulary": config.vocab_size,
        "tokenizer": checkpoint.text.description,
        "chat_template": checkpoint.text.chat_template is not None,
        "sampling_defaults": checkpoint.sampling_defaults,
        "licence": entry.licence if entry else checkpoint.licence,
        "fingerprint": checkpoint.fingerprint,
        "path": str(checkpoint.path),
    }


def known_models(cache: Path | None) -> list[dict[str, Any]]:
    """The catalogue and what else was fetched: name, path (None: not fetched yet), size_bytes, summary."""
    listed = [
        {
            "name": entry.name,
            "path": _text(pulled_file(entry, cache)),
            "size_bytes": entry.file_bytes,
            "licence": entry.licence,
            "summary": entry.summary,
        }
        for entry in CATALOGUE.values()
    ]
    return listed + [_fetched(folder) for folder in _hub_folders(cache)]


def _hub_folders(cache: Path | None) -> list[Path]:
    own = {folder_name(name) for name in CATALOGUE} | {STAGING}
    models = models_folder(cache)
    with suppress(OSError):  # nobody lets this user look there
        return sorted(path for path in models.glob("*") if path.name not in own and is_fetched(path))
    return []


def _fetched(folder: Path) -> dict[str, Any]:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    name = folder.name.replace("--", "/", 1)
    return {"name": name, "path": str(folder), "size_bytes": size, "licence": None, "summary": "from the hub"}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
