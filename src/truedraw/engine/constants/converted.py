"""A checkpoint's weights as an engine reads them, converted once and kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.replaced import Origin
from truedraw.engine.constants.store import open_stored
from truedraw.engine.constants.weights import ConvertedConstants
from truedraw.engine.constants.writing import Writing
from truedraw.engine.record_files import read_record, write_record
from truedraw.models import Checkpoint
from truedraw.models.fingerprint import digest_of, stamp
from truedraw.models.safetensors_weights import weight_files

Form = tuple[str, int]
"""The name of an order of arrays, and its version, to be raised when that changes."""


def converted(
    checkpoint: Checkpoint, policy: str, folder: Path, form: Form, write: Callable[[ConvertedConstants, Writing], None]
) -> MappedConstants:
    """What `write` makes of the constants, from the folder or written there first; what they are of decides, to the
    byte. policy: see weights.py. Raises BadModelFile or EngineError."""
    assert checkpoint.weights is not None
    path, (name, version) = checkpoint.path.resolve(), form
    source, origin = ConvertedConstants(checkpoint.weights, policy), Origin(str(path), f"{policy} {name}", version)
    parts = [checkpoint.fingerprint, _contents(path, folder), policy, name, str(version)]
    key = sha256("\0".join(parts).encode()).hexdigest()[:32]
    return open_stored(folder, key, partial(write, source), origin, before=checkpoint.check_contents)


def _contents(path: Path, folder: Path) -> str:
    """Stands for all bytes of a model's weights; they are read where they were touched since that was asked last."""
    files = [file for file in (weight_files(path) if path.is_dir() else [path]) if file.is_file()]
    record = folder / f"contents-{sha256(os.fsencode(path)).hexdigest()[:32]}.json"
    now = stamp(files)
    with suppress(OSError, ValueError, TypeError, KeyError):
        known = read_record(record)
        if now and known["stamp"] == now:
            return str(known["checksum"])
    found = " ".join(map(digest_of, files))
    write_record(record, {"stamp": now, "checksum": found})
    return found
