"""Arrays and facts in one safetensors file, written whole or not at all; the one before stays beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.kept import sum_of
from truedraw.errors import BadFile
from truedraw.sampling.values import parsed
from truedraw.whole_files import replacing, to_disk

Arrays = dict[str, NDArray[Any]]
BEFORE = ".before"
KEPT = "texts and features are kept"
FACTS, CHECKSUM = "facts", "checksum"


class Stored(Arrays):
    """The arrays of the checkpoint at `path`; one that it lacks raises BadFile where it is asked for."""

    def __init__(self, path: Path, arrays: Arrays) -> None:
        super().__init__(arrays)
        self._path = path

    def check(self, names: Iterable[str]) -> None:
        """Raises BadFile where one of these is not there."""
        for name in names:
            if name not in self:
                raise damaged(self._path, f"it lacks {name}")

    def __missing__(self, name: str) -> NDArray[Any]:
        raise damaged(self._path, f"it lacks {name}")


def write_checkpoint(path: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Raises BadFile where it cannot be written; what was there is there still."""
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    with replacing(path, then="make room, and the same command goes on") as fresh:
        told = json.dumps(facts, allow_nan=False)
        fresh.write_bytes(save(whole, {FACTS: told, CHECKSUM: checksum_of(whole, told)}))
        to_disk(fresh)  # there is room for it: now for what it replaces
        if path.exists() and path.stat().st_size:
            copyfile(path, before(path))


def read_checkpoint(path: Path) -> tuple[Stored, Any] | None:
    """None where there is none; raises BadFile for one that is cut or damaged."""
    from safetensors import SafetensorError, safe_open

    if not path.exists():
        return None
    try:
        with safe_open(path, "np") as file:
            said = file.metadata()
            facts = parsed(said[FACTS])
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError, TypeError, KeyError, ValueError) as error:
        raise damaged(path, error) from error
    if said.get(CHECKSUM) not in (None, checksum_of(found, said[FACTS])):  # older ones have none
        raise damaged(path, "it is not what was written")
    return Stored(path, found), facts


def checksum_of(arrays: Mapping[str, NDArray[Any]], facts: str) -> str:
    """32 hexadecimal digits, of both."""
    return sha256(f"{facts} {sum_of(arrays)}".encode()).hexdigest()[:32]


def read_beside(path: Path, main: Path) -> Stored:
    """The arrays of the checkpoint that belongs to `main`; raises BadFile, also where there is none."""
    found = read_checkpoint(path)
    if found is None:
        raise BadFile(f"{path} is gone, and {main} goes on from it; {_what_to_do(path, str(main))}; {KEPT}")
    return found[0]


def damaged(path: Path, why: object) -> BadFile:
    """What to raise for a checkpoint that no training wrote like this."""
    return BadFile(f"{path} is cut or damaged ({why}); {_what_to_do(path)}; {KEPT}")


def before(path: Path) -> Path:
    """Where the last but one is."""
    return path.with_name(path.name + BEFORE)


def forget_checkpoints(path: Path) -> None:
    """Remove both."""
    for each in (path, before(path)):
        each.unlink(missing_ok=True)


def _what_to_do(path: Path, removed: str = "it") -> str:
    if before(path).exists():
        return f"the last good one is {before(path)}: move it to {path} to go on from there"
    return f"remove {removed} to train anew"
