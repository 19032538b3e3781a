"""Arrays and facts in one safetensors file, written whole or not at all; the one before stays beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadFile
from truedraw.whole_files import replacing, to_disk

Arrays = dict[str, NDArray[Any]]
BEFORE = ".before"
FACTS = "facts"


def write_checkpoint(path: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Raises BadFile where it cannot be written; what was there is there still."""
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    with replacing(path, then="make room, and the same command goes on") as fresh:
        fresh.write_bytes(save(whole, {FACTS: json.dumps(facts, allow_nan=False)}))
        to_disk(fresh)  # there is room for it: now for what it replaces
        if path.exists() and path.stat().st_size:
            copyfile(path, before(path))


def read_checkpoint(path: Path) -> tuple[Arrays, dict[str, Any]] | None:
    """None where there is none; raises BadFile for one that is cut or damaged."""
    from safetensors import SafetensorError, safe_open

    if not path.exists():
        return None
    try:
        with safe_open(path, "np") as file:
            facts = json.loads(file.metadata()[FACTS])
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError, TypeError, KeyError, ValueError) as error:
        raise BadFile(
            f"{path} is cut or damaged ({error}); {_what_to_do(path)}; texts and features are kept"
        ) from error


def before(path: Path) -> Path:
    """Where the last but one is."""
    return path.with_name(path.name + BEFORE)


def forget_checkpoints(path: Path) -> None:
    """Remove both."""
    for each in (path, before(path)):
        each.unlink(missing_ok=True)


def _what_to_do(path: Path) -> str:
    if before(path).exists():
        return f"the last good one is {before(path)}: move it to {path} to go on from there"
    return "remove it to train anew"
